//! Mappings of variables in playbooks, turned into variables once.
use crate::template::{Json, Var, late};
use crate::vault::{self, Password};
use crate::yaml::{Data, Node, UNSAFE_KEY, VAULT_KEY};
use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

/// The variables of one mapping.
pub(super) type Layer = Arc<HashMap<String, Var>>;

/// The mappings that were turned so far, by the node that they were written as. Nodes live as long as the playbook.
pub struct Layers {
    turned: RwLock<HashMap<usize, (Arc<Node>, Layer)>>,
    passwords: Arc<Vec<Password>>,
}

impl Layers {
    /// Nothing turned yet; the passwords open encrypted values.
    pub fn new(passwords: Arc<Vec<Password>>) -> Self {
        Self { turned: RwLock::default(), passwords }
    }

    /// A variable of a mapping.
    pub fn get(&self, node: &Arc<Node>, name: &str) -> Option<Var> {
        self.layer(node).get(name).cloned()
    }

    /// All names of a mapping.
    pub fn names(&self, node: &Arc<Node>) -> Vec<String> {
        self.layer(node).keys().cloned().collect()
    }

    /// The whole mapping.
    pub fn layer(&self, node: &Arc<Node>) -> Layer {
        let key = Arc::as_ptr(node) as usize;
        if let Some((_, layer)) = self.turned.read().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return Arc::clone(layer);
        }
        let layer: Layer = Arc::new(match &node.data {
            Data::Map(pairs) => {
                pairs.iter().map(|(key, value)| (key.key_text().into_owned(), self.var(value))).collect()
            }
            _ => HashMap::new(),
        });
        // The node is kept with it: an address that was freed and used again would be another mapping.
        let mut turned = self.turned.write().unwrap_or_else(PoisonError::into_inner);
        turned.insert(key, (Arc::clone(node), Arc::clone(&layer)));
        layer
    }

    /// One value as a variable.
    pub fn var(&self, node: &Node) -> Var {
        self.of_json(node.to_json()).at(node.span.clone())
    }

    /// A value with the marks of YAML's tags as a variable.
    pub fn of_json(&self, mut value: Json) -> Var {
        let mut marks = Marks::default();
        unmark(&mut value, &self.passwords, &mut marks);
        let var = if marks.guarded { Var::seen(value) } else { Var::written(value) };
        if marks.secret { var.secret() } else { var }
    }
}

#[derive(Default)]
struct Marks {
    secret: bool,
    guarded: bool,
}

fn unmark(value: &mut Json, passwords: &[Password], marks: &mut Marks) {
    match value {
        Json::Array(members) => members.iter_mut().for_each(|member| unmark(member, passwords, marks)),
        Json::Object(map) => {
            if let (1, Some(Json::String(text))) = (map.len(), map.get(UNSAFE_KEY)) {
                marks.guarded = true;
                *value = Json::String(text.clone());
            } else if let (1, Some(Json::String(text))) = (map.len(), map.get(VAULT_KEY)) {
                marks.secret = true;
                *value = match vault::decrypt(text, passwords) {
                    Ok(plain) => Json::String(String::from_utf8_lossy(&plain).into_owned()),
                    Err(why) => late(&format!("the vault is opened ({why})")),
                };
            } else {
                map.values_mut().for_each(|member| unmark(member, passwords, marks));
            }
        }
        _ => {}
    }
}
