//! Images of results, saved where a person can open them.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
};

use agent_tool_core::Part;
use base64::{Engine as _, engine::general_purpose::STANDARD};

use crate::state::State;

/// The images of a run, numbered from 1.
#[derive(Debug)]
pub(crate) struct Pictures {
    /// None where there is no state folder: then none is kept.
    folder: Option<PathBuf>,
    count: AtomicUsize,
}

impl Pictures {
    pub(crate) fn new(folder: Option<PathBuf>) -> Self {
        Self { folder, count: AtomicUsize::new(0) }
    }

    /// Saves an image and says where it is, or why it is nowhere. None for a part that is no image.
    pub(crate) fn save(&self, part: &Part) -> Option<String> {
        let Part::Image { mime, base64 } = part else { return None };
        let Some(folder) = &self.folder else {
            return Some("an image that is not kept, since there is no state folder".to_owned());
        };
        let number = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        let path = folder.join(format!("image_{number}.{}", ending(mime)));
        Some(match write(&path, base64) {
            Ok(()) => format!("image: {}", path.display()),
            Err(why) => format!("an image that was not saved: {why}"),
        })
    }
}

/// `image/svg+xml` is `svg`.
fn ending(mime: &str) -> &str {
    mime.rsplit('/').next().unwrap_or("bin").split('+').next().unwrap_or("bin")
}

fn write(path: &Path, base64: &str) -> Result<(), String> {
    let bytes = STANDARD.decode(base64).map_err(|error| error.to_string())?;
    if path.exists() {
        let _ = fs::remove_file(path);
    }
    State::write(path, &bytes).map_err(|error| error.to_string())
}
