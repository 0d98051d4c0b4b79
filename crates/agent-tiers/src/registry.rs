//! The tools of a run.

use std::{collections::HashMap, error::Error, fmt, sync::Arc};

use agent_tool_core::{Tool, ToolError, ToolSpec};

/// The tools of a run, in the order in which they were added. A clone is cheap and means the same
/// tools; a registry never changes, a run is given another one.
#[derive(Clone, Default)]
pub struct Registry {
    inner: Arc<Tools>,
}

#[derive(Default)]
struct Tools {
    ordered: Vec<Arc<dyn Tool>>,
    by_name: HashMap<String, usize>,
}

impl Registry {
    /// A builder without tools.
    pub fn builder() -> RegistryBuilder {
        RegistryBuilder::default()
    }

    /// A builder that begins with these tools: how a host's own join, and how vibe mode is put on.
    pub fn to_builder(&self) -> RegistryBuilder {
        RegistryBuilder { tools: self.inner.ordered.clone(), error: None }
    }

    /// The tool of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.inner.by_name.get(name).map(|index| &self.inner.ordered[*index])
    }

    /// All tools, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn Tool>> {
        self.inner.ordered.iter()
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter().map(|tool| &tool.spec().name)).finish()
    }
}

/// Collects tools. The first fault is kept and comes out of [`RegistryBuilder::build`].
#[derive(Default)]
#[must_use]
pub struct RegistryBuilder {
    tools: Vec<Arc<dyn Tool>>,
    error: Option<RegistryError>,
}

impl RegistryBuilder {
    /// Adds a tool.
    pub fn tool(mut self, tool: Arc<dyn Tool>) -> Self {
        self.tools.push(tool);
        self
    }

    /// Adds several tools.
    pub fn tools(mut self, tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Self {
        self.tools.extend(tools);
        self
    }

    /// Leaves out the tools that were added so far and fit.
    pub fn without(mut self, which: impl Fn(&ToolSpec) -> bool) -> Self {
        self.tools.retain(|tool| !which(tool.spec()));
        self
    }

    /// Wraps the tools that were added so far and fit. A wrapper changes how a tool is presented
    /// and what surrounds its calls; one that claims a lower tier than the tool it wraps is
    /// refused, since it would carry the tool onto surfaces on which it must not exist.
    pub fn wrap(
        mut self,
        which: impl Fn(&ToolSpec) -> bool,
        wrapper: impl Fn(Arc<dyn Tool>) -> Arc<dyn Tool>,
    ) -> Self {
        for tool in self.tools.iter_mut().filter(|tool| which(tool.spec())) {
            let wrapped = wrapper(Arc::clone(tool));
            if wrapped.spec().tier < tool.spec().tier {
                let error = RegistryError::new(RegistryErrorKind::TierLowered, tool.spec());
                self.error.get_or_insert(error);
            }
            *tool = wrapped;
        }
        self
    }

    /// The registry.
    ///
    /// # Errors
    ///
    /// A name that stands twice, a spec that [`ToolSpec::validate`] refuses, a wrapper that lowers
    /// a tier.
    pub fn build(self) -> Result<Registry, RegistryError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        let mut by_name = HashMap::with_capacity(self.tools.len());
        for (index, tool) in self.tools.iter().enumerate() {
            let spec = tool.spec();
            spec.validate().map_err(|source| RegistryError {
                source: Some(Box::new(source)),
                ..RegistryError::new(RegistryErrorKind::InvalidSpec, spec)
            })?;
            if by_name.insert(spec.name.clone(), index).is_some() {
                return Err(RegistryError::new(RegistryErrorKind::Duplicate, spec));
            }
        }
        Ok(Registry { inner: Arc::new(Tools { ordered: self.tools, by_name }) })
    }
}

impl fmt::Debug for RegistryBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.tools.iter().map(|tool| &tool.spec().name)).finish()
    }
}

/// What is wrong with a tool that was to be registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RegistryErrorKind {
    /// Another tool has the name already.
    Duplicate,
    /// The spec is not of the portable form.
    InvalidSpec,
    /// A wrapper claims a lower tier than the tool that it wraps.
    TierLowered,
}

/// A registry that cannot be built.
#[derive(Clone, Debug)]
pub struct RegistryError {
    kind: RegistryErrorKind,
    tool: String,
    source: Option<Box<ToolError>>,
}

impl RegistryError {
    fn new(kind: RegistryErrorKind, spec: &ToolSpec) -> Self {
        Self { kind, tool: spec.name.clone(), source: None }
    }

    /// What is wrong.
    #[must_use]
    pub fn kind(&self) -> RegistryErrorKind {
        self.kind
    }

    /// The tool that it is about.
    #[must_use]
    pub fn tool(&self) -> &str {
        &self.tool
    }
}

impl fmt::Display for RegistryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tool = &self.tool;
        match self.kind {
            RegistryErrorKind::Duplicate => write!(f, "two tools are named {tool:?}; rename one"),
            RegistryErrorKind::InvalidSpec => write!(f, "the spec of tool {tool:?} is not valid"),
            RegistryErrorKind::TierLowered => {
                write!(f, "a wrapper lowers the tier of tool {tool:?}; keep or raise it")
            }
        }
    }
}

impl Error for RegistryError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn Error + 'static))
    }
}
