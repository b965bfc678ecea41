//! A program of the host that brings bytes to a socket and back: where the acting user is not the one who logged in,
//! or sshd forwards to no sockets. What is there is taken; nothing is installed.
use crate::transport::shell::word::{literal, quote};

/// The socket is not there, or nobody serves it.
pub(super) const ABSENT: i32 = 71;
/// The user may not connect.
pub(super) const DENIED: i32 = 73;
/// The host has none of the programs.
pub(super) const NONE: i32 = 75;

/// Says a newline once it is connected: blanks between answers mean nothing.
const PYTHON: &str = "import os,socket,sys,threading
s=socket.socket(socket.AF_UNIX)
try: s.connect(sys.argv[1])
except OSError as e: sys.exit({2:71,111:71,13:73,1:73}.get(e.errno,str(e)))
os.write(1,b'\\n')
def up():
  while 1:
    b=os.read(0,65536)
    if not b: break
    s.sendall(b)
  s.shutdown(1)
threading.Thread(target=up,daemon=True).start()
while 1:
  b=s.recv(65536)
  if not b: break
  while b: b=b[os.write(1,b):]
os._exit(0)";

const PERL: &str = r#"use Socket; socket(my $s,AF_UNIX,SOCK_STREAM,0) or exit 1;
connect($s,sockaddr_un($ARGV[0])) or do { my $e=$!+0; exit 71 if $e==2||$e==111; exit 73 if $e==13||$e==1; die "$!\n" };
syswrite(STDOUT,"\n"); my $in=1; my $b;
while(1){ my $r=""; vec($r,fileno($s),1)=1; vec($r,0,1)=1 if $in; select($r,undef,undef,undef);
if(vec($r,fileno($s),1)){ sysread($s,$b,65536) or exit 0; syswrite(STDOUT,$b) }
if($in&&vec($r,0,1)){ if(sysread(STDIN,$b,65536)){ syswrite($s,$b) } else { $in=0; shutdown($s,1) } } }"#;

/// The shell text that becomes such a program.
///
/// # Errors
/// A path that cannot be a word.
pub(super) fn text(socket: &str) -> Result<String, String> {
    let path = literal(socket.as_bytes()).map_err(|why| format!("{socket} {why}"))?;
    let (python, perl) = (quote(PYTHON), quote(PERL));
    Ok(format!(
        "for _p in python3 /usr/libexec/platform-python; do if command -v $_p >/dev/null 2>&1; then exec $_p -c {python} {path}; fi; done
if command -v perl >/dev/null 2>&1; then exec perl -e {perl} {path}; fi
exit {NONE}"
    ))
}

/// Why sshd would not open a socket, asked as the user who logged in. A path that is listened on, and that the user may
/// write, was refused by sshd itself.
///
/// # Errors
/// As [`text`].
pub(super) fn why(socket: &str) -> Result<String, String> {
    let path = literal(socket.as_bytes()).map_err(|why| format!("{socket} {why}"))?;
    Ok(format!(
        "_p={path}; if [ -S \"$_p\" ]; then if [ ! -w \"$_p\" ]; then echo denied
else _w=absent; while read -r _n _r _o _f _t _s _i _x; do [ \"$_x\" != \"$_p\" ] || [ \"$_f\" != 00010000 ] || _w=refused; done </proc/net/unix; echo $_w; fi
elif [ -e \"$_p\" ]; then echo other
else _d=$_p; while _d=${{_d%/*}}; [ -n \"$_d\" ] && [ ! -d \"$_d\" ]; do :; done; if [ -x \"${{_d:-/}}\" ]; then echo absent; else echo denied; fi; fi
s why 0"
    ))
}
