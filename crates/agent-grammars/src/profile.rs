/// What a structural matcher has to know about a language, as data: the matcher names no language.
///
/// All node kinds are those of the bundled grammar.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Profile {
    /// The id that a user writes, such as `rust`.
    pub id: &'static str,
    /// Other spellings of the id, in lower case.
    pub aliases: &'static [&'static str],
    /// File extensions, without the dot.
    pub extensions: &'static [&'static str],
    /// Whole file names, such as `Rakefile`.
    pub file_names: &'static [&'static str],
    /// The ladder: where a fragment may stand, in the order in which to try.
    pub contexts: &'static [Context],
    /// What may be added to a fragment to make it a statement; the empty string comes first.
    pub terminators: &'static [&'static str],
    /// How a placeholder for one node may be spelled, in the order in which to try.
    pub spellings: &'static [Spelling],
    /// First words of a fragment that decide where it stands.
    pub openers: &'static [Opener],
    /// Kinds that a fragment hardly ever means when it is nothing else, such as a label where a
    /// named argument can stand: a context that reads it so is tried after all others.
    pub misreadings: &'static [&'static str],
    /// Words that are never an identifier: a parse that reads one so is a misreading.
    pub reserved: &'static [&'static str],
    /// Strings, characters, templates and comments: in them a `$NAME` is text, and lines that
    /// begin in them must not be indented anew.
    pub opaque: &'static [&'static str],
    /// Comments, also where the grammar does not call them extras.
    pub comments: &'static [&'static str],
    /// Text whose layout has no meaning, such as text between tags.
    pub prose: &'static [&'static str],
    /// Nodes that are only a run of others and have no token of their own. A placeholder stands in
    /// them, not for them, and an empty run has no such node.
    pub lists: &'static [&'static str],
    /// Nodes that are a part of their parent and no element of its run (`else`, `rescue`):
    /// an ellipsis does not take them.
    pub clauses: &'static [&'static str],
    /// What may stand before a declaration and is inside of its node (annotations): a pattern
    /// without any matches the declaration behind them, and they are no part of the match.
    pub leading: &'static [&'static str],
    /// Tokens without a name that are an expression by themselves, as Zig's `null`.
    pub values: &'static [&'static str],
    /// Nodes in which a separator at the end has a meaning (a tuple of one, the head of a `for`).
    pub strict_separators: &'static [&'static str],
    /// Kinds that are one declaration in different places, such as a function and a method.
    pub equivalents: &'static [&'static [&'static str]],
    /// Wrappers of one child that some of the equivalents have and others lack.
    pub transparent: &'static [&'static str],
    /// Nodes whose inside is tokens that the grammar does not parse, such as a macro's arguments.
    pub macro_bodies: &'static [&'static str],
    /// Whether indentation is syntax.
    pub layout: Layout,
    /// Whether keywords may be written in any case.
    pub keywords: Keywords,
    /// Whether two words may be tokens of their own with nothing between them.
    pub boundaries: TokenBoundaries,
    /// What keeps the precedence of an expression, if the language has it.
    pub parentheses: Option<(&'static str, &'static str)>,
}

/// A rung of the ladder: source around a fragment that makes it parse as what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Context {
    /// What the fragment is here.
    pub name: ContextName,
    /// The source before it.
    pub prefix: &'static str,
    /// The source after it. It opens with a line break where a line comment could swallow it.
    pub suffix: &'static str,
}

/// What a fragment is in a [`Context`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ContextName {
    /// A statement of a body.
    Statement,
    /// A value.
    Expression,
    /// A member of a class or a struct.
    Member,
    /// A declaration of a file.
    Declaration,
    /// The file as it is: all that is known of a grammar that was loaded while the program runs.
    Bare,
    /// A place that only some languages have, such as `match arm`.
    Other(&'static str),
}

impl ContextName {
    /// The name in words.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Statement => "statement",
            Self::Expression => "expression",
            Self::Member => "class member",
            Self::Declaration => "declaration",
            Self::Bare => "file",
            Self::Other(name) => name,
        }
    }
}

impl std::fmt::Display for ContextName {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// How a placeholder is written so that the grammar takes it for one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Spelling {
    /// `name`
    Identifier,
    /// `$name`, a variable where variables have a sigil.
    Dollar,
    /// `Name`, a constant, a type, a module where case decides.
    Capitalised,
    /// `"name"`
    Quoted,
    /// `name;`
    Statement,
    /// `name()`, where a call is the smallest statement.
    Call,
    /// `name();`
    CallStatement,
}

/// A first word that decides where the whole fragment stands. It is data about words that a
/// grammar would also read as a name, in a rung where the word has no meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Opener {
    /// The first word of the fragment, which another word has to follow, or its first bracket.
    pub word: &'static str,
    /// The only context in which it opens something.
    pub context: ContextName,
    /// The spelling to try first, where another than the usual is meant.
    pub spelling: Option<Spelling>,
}

/// Whether indentation is syntax.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Layout {
    /// Blocks have delimiters.
    Free,
    /// Blocks are made by indentation.
    Indented,
}

/// Whether keywords may be written in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Keywords {
    /// `if` alone.
    CaseSensitive,
    /// `if`, `If`, `IF`.
    CaseInsensitive,
}

/// Whether two word-like tokens may stand with nothing between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TokenBoundaries {
    /// Never: a word token ends where the word ends.
    Words,
    /// It happens (`10px`), so a search for a token must not ask for a word boundary.
    Anywhere,
}

const fn context(name: ContextName, prefix: &'static str, suffix: &'static str) -> Context {
    Context { name, prefix, suffix }
}

pub(crate) const fn statement(prefix: &'static str, suffix: &'static str) -> Context {
    context(ContextName::Statement, prefix, suffix)
}

pub(crate) const fn expression(prefix: &'static str, suffix: &'static str) -> Context {
    context(ContextName::Expression, prefix, suffix)
}

pub(crate) const fn member(prefix: &'static str, suffix: &'static str) -> Context {
    context(ContextName::Member, prefix, suffix)
}

pub(crate) const fn declaration(prefix: &'static str) -> Context {
    context(ContextName::Declaration, prefix, "\n")
}

pub(crate) const fn other(
    name: &'static str,
    prefix: &'static str,
    suffix: &'static str,
) -> Context {
    context(ContextName::Other(name), prefix, suffix)
}

pub(crate) const fn opener(word: &'static str, context: ContextName) -> Opener {
    Opener { word, context, spelling: None }
}

pub(crate) const fn quoted_opener(word: &'static str, context: ContextName) -> Opener {
    Opener { word, context, spelling: Some(Spelling::Quoted) }
}

/// What is assumed of a language that nothing is known of.
pub(crate) const BARE: Profile = Profile {
    id: "",
    aliases: &[],
    extensions: &[],
    file_names: &[],
    contexts: &[context(ContextName::Bare, "", "\n")],
    terminators: &["", ";"],
    spellings: &[Spelling::Identifier, Spelling::Quoted],
    openers: &[],
    misreadings: &[],
    reserved: &[],
    opaque: &[
        "string",
        "string_literal",
        "char_literal",
        "comment",
        "line_comment",
        "block_comment",
    ],
    comments: &["comment", "line_comment", "block_comment"],
    prose: &[],
    lists: &[],
    clauses: &[],
    leading: &[],
    values: &[],
    strict_separators: &[],
    equivalents: &[],
    transparent: &[],
    macro_bodies: &[],
    layout: Layout::Free,
    keywords: Keywords::CaseSensitive,
    boundaries: TokenBoundaries::Anywhere,
    parentheses: None,
};

/// The usual: terminators and strict case, words with boundaries, parentheses.
pub(crate) const USUAL: Profile = Profile {
    contexts: &[],
    spellings: &[Spelling::Identifier],
    opaque: &[],
    comments: &["comment"],
    boundaries: TokenBoundaries::Words,
    parentheses: Some(("(", ")")),
    ..BARE
};
