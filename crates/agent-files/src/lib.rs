#![doc = include_str!("../README.md")]

mod apply_patch;
mod artifacts;
mod blocking;
mod change;
mod diff;
mod edit;
mod error;
mod files;
mod lines;
mod nearest;
mod patch;
mod read;
mod report;
mod search;
mod tools;
mod write;

pub use crate::{
    apply_patch::ApplyPatchArgs,
    artifacts::{ARTIFACT_SCHEME, MAX_ARTIFACT_NAME},
    change::Change,
    edit::EditArgs,
    files::Files,
    patch::{Action, FilePatch, Hunk, HunkLine, MAX_PATCH_BYTES, Mark, Patch},
    read::{DEFAULT_LINES, MAX_IMAGE_BYTES, MAX_LINE, MAX_SHOWN, ReadArgs, ReadLines, ReadOutcome},
    search::{
        DEFAULT_RESULTS, DecodedFile, FileCount, LineMatch, MAX_CONTEXT, MAX_PATTERN, MAX_RESULTS,
        REGEX_SIZE_LIMIT, SearchArgs, SearchOutcome, SearchOutput, SkippedFile,
    },
    tools::{apply_patch_tool, edit_tool, read_tool, search_tool, write_tool},
    write::{MAX_CONTENT_BYTES, WriteArgs},
};
