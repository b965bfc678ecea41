//! A batch is one carrier: steps by the host's shell and steps over a socket go apart, in their order.
use modules::fold::Folded;
use modules::vocabulary::{Act, Step};

/// Whether a step is brought over a socket.
pub(crate) fn is_rpc(step: &Step) -> bool {
    matches!(step.act, Act::Rpc { .. })
}

/// Steps as maximal runs of one carrier; at least one run, which may be empty.
pub(crate) fn parts(steps: Vec<Folded>) -> Vec<Vec<Folded>> {
    let mut parts: Vec<Vec<Folded>> = vec![Vec::new()];
    for folded in steps {
        let joins =
            |part: &Vec<Folded>| part.last().is_none_or(|last| is_rpc(&last.step) == is_rpc(&folded.step));
        match parts.last_mut().filter(|part| joins(part)) {
            Some(part) => part.push(folded),
            None => parts.push(vec![folded]),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::parts;
    use modules::fold::Folded;
    use modules::vocabulary::{Act, Back, Claim, HostPath, Match, Row, Seen, Step, TaskId};

    #[test]
    fn runs_of_one_carrier_stay_together() {
        let socket = HostPath::new("/s").unwrap();
        let step = |is_rpc: bool| {
            let act = match is_rpc {
                true => {
                    Act::Rpc { socket: socket.clone(), method: "m".to_owned(), params: Default::default() }
                }
                false => Act::Call { row: Row::new("uname", ["-s"]), spoils: Vec::new() },
            };
            let claim = Claim::new("x", "y");
            let step =
                Step { claim, look: None, before: Seen::Absent, after: Match::Any, act, back: Back::Nothing };
            Folded { tasks: vec![TaskId(0)], step }
        };
        let lengths = |kinds: &[bool]| {
            let parts = parts(kinds.iter().map(|kind| step(*kind)).collect());
            parts.iter().map(Vec::len).collect::<Vec<_>>()
        };
        assert_eq!(lengths(&[]), [0]);
        assert_eq!(lengths(&[false, false, true, true, true, false]), [2, 3, 1]);
        assert_eq!(lengths(&[true]), [1]);
    }
}
