//! What templates may see beside variables: files beside the playbook, the environment, the time, as given.
use std::sync::Arc;

use minijinja::syntax::SyntaxConfig;

use super::fault::Fault;
use super::marks::Delimiters;

/// Files beside the playbook and the environment, as lookups see them. Paths are resolved by whoever implements it.
pub trait Files: Send + Sync {
    /// The text of a file (`lookup('file')`), or why not, in words.
    ///
    /// # Errors
    /// The reason in words, naming the path.
    fn file(&self, path: &str) -> Result<String, String>;
    /// The text of a template (`lookup('template')`), or why not, in words.
    ///
    /// # Errors
    /// The reason in words, naming the path.
    fn template(&self, path: &str) -> Result<String, String>;
    /// The path under which a file is found (`lookup('first_found')`).
    fn find(&self, path: &str) -> Option<String>;
    /// The files that match (`lookup('fileglob')`), sorted.
    ///
    /// # Errors
    /// The reason in words, naming the pattern.
    fn glob(&self, pattern: &str) -> Result<Vec<String>, String>;
    /// A variable of the environment (`lookup('env')`).
    fn env(&self, name: &str) -> Option<String>;
}

/// No files and an empty environment.
pub struct NoFiles;

impl Files for NoFiles {
    fn file(&self, path: &str) -> Result<String, String> {
        Err(format!("the file `{path}` cannot be read here"))
    }

    fn template(&self, path: &str) -> Result<String, String> {
        Err(format!("the template `{path}` cannot be read here"))
    }

    fn find(&self, _: &str) -> Option<String> {
        None
    }

    fn glob(&self, pattern: &str) -> Result<Vec<String>, String> {
        Err(format!("the files `{pattern}` cannot be listed here"))
    }

    fn env(&self, _: &str) -> Option<String> {
        None
    }
}

/// What templates may see beside variables.
#[derive(Clone)]
pub struct TemplateWorld {
    /// Files and environment.
    pub files: Arc<dyn Files>,
    /// The time of the run in seconds since 1970, UTC; without it `now` is refused.
    pub now: Option<i64>,
}

impl Default for TemplateWorld {
    fn default() -> Self {
        Self { files: Arc::new(NoFiles), now: None }
    }
}

/// How a template file is read and written, with the defaults of Ansible's `template` module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileOptions {
    /// Whether the line break after a block is dropped.
    pub trim_blocks: bool,
    /// Whether blanks before a block are dropped.
    pub lstrip_blocks: bool,
    /// What ends lines in the result.
    pub newline_sequence: String,
    /// `{{`.
    pub variable_start_string: String,
    /// `}}`.
    pub variable_end_string: String,
    /// `{%`.
    pub block_start_string: String,
    /// `%}`.
    pub block_end_string: String,
    /// `{#`.
    pub comment_start_string: String,
    /// `#}`.
    pub comment_end_string: String,
}

impl Default for FileOptions {
    fn default() -> Self {
        Self {
            trim_blocks: true,
            lstrip_blocks: false,
            newline_sequence: "\n".to_owned(),
            variable_start_string: "{{".to_owned(),
            variable_end_string: "}}".to_owned(),
            block_start_string: "{%".to_owned(),
            block_end_string: "%}".to_owned(),
            comment_start_string: "{#".to_owned(),
            comment_end_string: "#}".to_owned(),
        }
    }
}

impl FileOptions {
    pub(super) fn delimiters(&self) -> Delimiters {
        let pair = |start: &String, end: &String| (start.clone(), end.clone());
        Delimiters {
            block: pair(&self.block_start_string, &self.block_end_string),
            variable: pair(&self.variable_start_string, &self.variable_end_string),
            comment: pair(&self.comment_start_string, &self.comment_end_string),
        }
    }

    pub(super) fn syntax(&self) -> Result<SyntaxConfig, Fault> {
        let mut syntax = SyntaxConfig::builder();
        syntax.keep_trailing_newline(true).trim_blocks(self.trim_blocks).lstrip_blocks(self.lstrip_blocks);
        let usual = Self::default();
        if self.delimiters() != usual.delimiters() {
            syntax
                .block_delimiters(self.block_start_string.clone(), self.block_end_string.clone())
                .variable_delimiters(self.variable_start_string.clone(), self.variable_end_string.clone())
                .comment_delimiters(self.comment_start_string.clone(), self.comment_end_string.clone());
        }
        syntax.build().map_err(|_| Fault::failed("the template's delimiters cannot be told apart", 0..0))
    }

    /// These options with those of a first line `#jinja2: …`, and the byte after that line.
    pub(super) fn with_header(&self, text: &str) -> Result<(Self, usize), Fault> {
        let Some(rest) = text.strip_prefix("#jinja2:") else { return Ok((self.clone(), 0)) };
        let line = rest.split('\n').next().unwrap_or(rest);
        let after = ("#jinja2:".len() + line.len() + 1).min(text.len());
        let mut options = self.clone();
        for pair in line.split(',') {
            let wrong =
                || Fault::failed("an option of `#jinja2:` is not known or has no such value", 0..after);
            let (name, val) = pair.split_once(':').ok_or_else(wrong)?;
            let val = val.trim();
            let flag = match val.to_lowercase().as_str() {
                "true" => Some(true),
                "false" => Some(false),
                _ => None,
            };
            let word = || val.trim_matches(['\'', '"']).to_owned();
            match (name.trim(), flag) {
                ("trim_blocks", Some(flag)) => options.trim_blocks = flag,
                ("lstrip_blocks", Some(flag)) => options.lstrip_blocks = flag,
                ("newline_sequence", None) => {
                    options.newline_sequence = word().replace("\\r", "\r").replace("\\n", "\n");
                }
                ("variable_start_string", None) => options.variable_start_string = word(),
                ("variable_end_string", None) => options.variable_end_string = word(),
                ("block_start_string", None) => options.block_start_string = word(),
                ("block_end_string", None) => options.block_end_string = word(),
                ("comment_start_string", None) => options.comment_start_string = word(),
                ("comment_end_string", None) => options.comment_end_string = word(),
                _ => return Err(wrong()),
            }
        }
        Ok((options, after))
    }
}
