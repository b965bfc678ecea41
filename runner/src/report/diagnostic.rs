//! Problems as text: the message, the lines with a caret under the place, what to do next.
use std::path::Path;

use annotate_snippets::{
    AnnotationKind, Element, Group, Level, Origin, Renderer, Snippet, renderer::DecorStyle,
};

use crate::diagnostic::{Diagnostic, Severity};
use crate::source::Span;

/// The source of a task that was typed: its places say nothing to the person who typed it.
pub const COMMAND_LINE: &str = "<command line>";

/// Lines shown around the place.
const AROUND: usize = 1;

/// Renders problems in the order given, one blank line between two. `colour` adds ANSI escapes; the words are the same.
pub fn render(problems: &[Diagnostic], colour: bool) -> String {
    let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
    let renderer = renderer.decor_style(DecorStyle::Ascii);
    let parts: Vec<String> = problems.iter().map(|problem| one(&renderer, problem)).collect();
    let mut text = parts.join("\n\n");
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

/// The last line for a list of problems: `2 errors, 1 warning`; empty for none.
pub fn count(problems: &[Diagnostic]) -> String {
    let errors = problems.iter().filter(|problem| problem.severity == Severity::Error).count();
    let say = |number: usize, word: &str| match number {
        0 => None,
        1 => Some(format!("1 {word}")),
        _ => Some(format!("{number} {word}s")),
    };
    let parts = [say(errors, "error"), say(problems.len() - errors, "warning")];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn one(renderer: &Renderer, problem: &Diagnostic) -> String {
    let level = match problem.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let mut elements: Vec<Element<'_>> = Vec::new();
    if let Some(span) = problem.span.as_ref().filter(|span| span.source.name != COMMAND_LINE) {
        if span.source.text.is_empty() || span.source.secret {
            let origin = Origin::path(span.source.name.as_str());
            let (line, _) = span.line_column();
            elements.push(if span.source.secret { origin.line(line).into() } else { origin.into() });
        } else {
            elements.push(snippet(span, problem.label.as_deref()).into());
        }
    }
    elements.extend(problem.notes.iter().map(|note| Level::NOTE.message(note.as_str()).into()));
    elements.extend(problem.help.iter().map(|help| Level::HELP.message(help.as_str()).into()));
    let title = level.primary_title(problem.message.as_str());
    let group = if elements.is_empty() { Group::with_title(title) } else { title.elements(elements) };
    renderer.render(&[group])
}

/// Only the lines around the place are handed over: rendering must not cost the whole of a long file.
fn snippet<'a>(span: &'a Span, label: Option<&'a str>) -> Snippet<'a, annotate_snippets::Annotation<'a>> {
    let text = &span.source.text;
    let marked = clipped(span);
    let start = lines_back(text, marked.start, AROUND);
    let end = lines_on(text, marked.end, AROUND);
    let window = &text[start..end];
    let (first, last) = (marked.start - start, marked.end - start);
    Snippet::source(window)
        .path(shown(&span.source.name))
        .line_start(text[..start].matches('\n').count() + 1)
        .fold(false)
        .annotation(AnnotationKind::Primary.span(first..last).label(label))
}

/// The range to mark: of several lines the first, which names what the rest belongs to.
fn clipped(span: &Span) -> std::ops::Range<usize> {
    let first = span.text().lines().next().unwrap_or("").trim_end().len();
    span.start..span.start + first
}

fn lines_back(text: &str, at: usize, lines: usize) -> usize {
    let mut start = at;
    for _ in 0..=lines {
        match text[..start].rfind('\n') {
            Some(found) => start = found,
            None => return 0,
        }
    }
    start + 1
}

fn lines_on(text: &str, at: usize, lines: usize) -> usize {
    let mut end = at;
    for _ in 0..=lines {
        match text[end..].find('\n') {
            Some(found) => end += found + 1,
            None => return text.len(),
        }
    }
    end - 1
}

/// A path as a person would type it.
fn shown(name: &str) -> &str {
    Path::new(name).strip_prefix("./").ok().and_then(Path::to_str).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Source;

    #[test]
    fn a_problem_shows_its_lines_and_its_fix() {
        let source = Source::new(
            "./site.yml",
            "- hosts: all\n  tasks:\n    - lineinfil:\n        path: /x\n      name: x\n",
        );
        let problem = Diagnostic::error("no module is named `lineinfil`", Span::new(&source, 28, 37))
            .label("not known")
            .note("modules: copy, lineinfile")
            .help("did you mean `lineinfile`?");
        let text = render(&[problem.clone(), Diagnostic::warning("no place", None)], false);
        assert_eq!(
            text,
            "error: no module is named `lineinfil`
 --> site.yml:3:7
  |
2 |   tasks:
3 |     - lineinfil:
  |       ^^^^^^^^^ not known
4 |         path: /x
  |
  = note: modules: copy, lineinfile
  = help: did you mean `lineinfile`?

warning: no place
"
        );
        assert!(render(std::slice::from_ref(&problem), true).contains("\u{1b}["));
        assert_eq!(count(&[problem.clone(), problem, Diagnostic::warning("x", None)]), "2 errors, 1 warning");
    }

    #[test]
    fn long_ranges_and_odd_places_are_shown() {
        let source = Source::new("a.yml", "a:\n  b: 1\n  c: 2\n  d: ö\n");
        for (start, end) in [(0, 24), (0, 9), (24, 24), (25, 25), (3, 5), (23, 24)] {
            let text = render(&[Diagnostic::error("m", Span::new(&source, start, end))], false);
            assert!(text.contains("--> a.yml:"), "{text}");
        }
        let empty = Source::new("e.yml", "");
        assert!(render(&[Diagnostic::error("m", Span::new(&empty, 0, 0))], false).contains("e.yml"));
    }
}
