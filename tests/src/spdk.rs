//! An SPDK target behind a real unix socket: what it answers was recorded from a real one, and so were its faults.
use modules::host::Target;
use serde_json::Value as Json;
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// What goes wrong with an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// It comes byte by byte.
    Trickle,
    /// It comes with the others of its piece in one write, and no newline.
    Together,
    /// It is not JSON.
    Garbage,
    /// It bears another number.
    WrongId,
    /// It comes after a while.
    Slow(Duration),
    /// It is done, and the connection closes in the middle of the answer.
    CloseMid,
    /// It is done, and the connection closes without an answer.
    CloseSilent,
    /// It is not done, and the connection closes without an answer.
    CloseUndone,
    /// It is done, and no answer comes.
    Silent,
}

/// One recorded answer, sent to whatever is asked next.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The answer; none where none came. A number in it that is the request's is replaced by the one that is asked.
    pub answer: Option<Json>,
    /// The number of the recorded request.
    pub id: Json,
    /// What came behind it in the same piece.
    pub tail: String,
    /// Whether the connection is closed then.
    pub closes: bool,
}

/// What a served target is like now.
#[derive(Debug)]
pub struct State {
    /// The target.
    pub target: Target,
    /// Methods that a fault strikes, each once.
    pub faults: Vec<(String, Fault)>,
    /// What is answered next, whatever is asked.
    pub recorded: Option<Recorded>,
    /// The methods that were asked, in order.
    pub asked: Vec<String>,
}

/// A target that serves a socket. Dropping it ends it; a socket file that a dead target left stays.
pub struct Served {
    path: PathBuf,
    state: Arc<Mutex<State>>,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Served {
    /// Serves a target.
    ///
    /// # Panics
    /// Where the socket cannot be made.
    pub fn new(path: &Path, target: Target) -> Self {
        let _ = std::fs::remove_file(path);
        let listener = UnixListener::bind(path).unwrap_or_else(|why| panic!("{}: {why}", path.display()));
        listener.set_nonblocking(true).expect("a socket that waits for nobody");
        let state = State { target, faults: Vec::new(), recorded: None, asked: Vec::new() };
        let (state, over) = (Arc::new(Mutex::new(state)), Arc::new(AtomicBool::new(false)));
        let (shared, ended) = (Arc::clone(&state), Arc::clone(&over));
        let thread = std::thread::spawn(move || accept(&listener, &shared, &ended));
        Self { path: path.to_owned(), state, over, thread: Some(thread) }
    }

    /// What it is like now.
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The target.
    pub fn target(&self) -> Target {
        self.state().target.clone()
    }

    /// Lets a fault strike the next request of a method.
    pub fn fault(&self, method: &str, fault: Fault) {
        self.state().faults.push((method.to_owned(), fault));
    }

    /// The methods that were asked since the last call.
    pub fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.state().asked)
    }

    /// Where it listens.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Waits until it ends by itself: a target that died.
    pub fn wait(mut self) {
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn accept(listener: &UnixListener, state: &Arc<Mutex<State>>, over: &Arc<AtomicBool>) {
    let mut threads = Vec::new();
    while !over.load(Ordering::SeqCst) {
        match listener.accept() {
            Ok((stream, _)) => {
                let (state, over) = (Arc::clone(state), Arc::clone(over));
                threads.push(std::thread::spawn(move || serve(stream, &state, &over)));
            }
            Err(_) => std::thread::sleep(Duration::from_millis(2)),
        }
    }
    for thread in threads {
        let _ = thread.join();
    }
}

fn serve(mut stream: UnixStream, state: &Mutex<State>, over: &AtomicBool) {
    let _ = stream.set_nonblocking(false);
    let _ = stream.set_read_timeout(Some(Duration::from_millis(20)));
    let mut bytes = Vec::new();
    let mut buffer = [0; 65536];
    while !over.load(Ordering::SeqCst) {
        match stream.read(&mut buffer) {
            Ok(0) => return,
            Ok(count) => bytes.extend_from_slice(&buffer[..count]),
            Err(error)
                if matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut) =>
            {
                continue;
            }
            Err(_) => return,
        }
        let mut requests = serde_json::Deserializer::from_slice(&bytes).into_iter::<Json>();
        let mut all = Vec::new();
        let mut broken = false;
        loop {
            match requests.next() {
                Some(Ok(request)) => all.push(request),
                Some(Err(error)) => {
                    broken = !error.is_eof();
                    break;
                }
                None => break,
            }
        }
        let end = requests.byte_offset();
        bytes.drain(..end);
        if !answer(&mut stream, &all, state, over) || broken {
            return;
        }
    }
}

/// Answers requests that came in one piece. False where the connection closes.
fn answer(stream: &mut UnixStream, requests: &[Json], state: &Mutex<State>, over: &AtomicBool) -> bool {
    let mut together = Vec::new();
    for request in requests {
        let method = request.get("method").and_then(Json::as_str).unwrap_or_default().to_owned();
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        state.asked.push(method.clone());
        if let Some(recorded) = state.recorded.take() {
            return replay(stream, request, recorded);
        }
        let at = state.faults.iter().position(|(struck, _)| *struck == method);
        let fault = at.map(|at| state.faults.remove(at).1);
        if fault == Some(Fault::CloseUndone) {
            return false;
        }
        let answer = state.target.answer(request);
        if state.target.is_dead() {
            over.store(true, Ordering::SeqCst);
            return false;
        }
        drop(state);
        let Some(mut answer) = answer else { continue };
        if fault == Some(Fault::WrongId) {
            answer["id"] = serde_json::json!(4711);
        }
        let text = answer.to_string();
        let sent = match fault {
            Some(Fault::CloseSilent) => return false,
            Some(Fault::Silent) => continue,
            Some(Fault::CloseMid) => {
                let _ = stream.write_all(&text.as_bytes()[..text.len() / 2]);
                return false;
            }
            Some(Fault::Garbage) => stream.write_all(b"Segmentation fault\n"),
            Some(Fault::Trickle) => {
                text.bytes().try_for_each(|byte| stream.write_all(&[byte]).and_then(|()| stream.flush()))
            }
            Some(Fault::Together) => {
                together.extend_from_slice(text.as_bytes());
                Ok(())
            }
            Some(Fault::Slow(pause)) => {
                std::thread::sleep(pause);
                stream.write_all(format!("{text}\n").as_bytes())
            }
            _ => stream.write_all(format!("{text}\n").as_bytes()),
        };
        if sent.is_err() {
            return false;
        }
    }
    together.is_empty() || stream.write_all(&together).is_ok()
}

fn replay(stream: &mut UnixStream, request: &Json, recorded: Recorded) -> bool {
    if let Some(mut answer) = recorded.answer {
        if answer["id"] == recorded.id {
            answer["id"] = request["id"].clone();
        }
        let _ = stream.write_all(format!("{answer}{}", recorded.tail).as_bytes());
    }
    !recorded.closes
}
