//! Finds keys that no setting has, all of them at once, by walking the document along the schema of the settings.

use serde_json::Value as Json;

use super::problem::Problem;
use super::tree::{Node, Step, Value, path_text};

/// Takes every unknown key out of `root` and reports it with the nearest known one.
pub(super) fn take_unknown(root: &mut Node, schema: &Json) -> Vec<Problem> {
    let mut problems = Vec::new();
    walk(root, schema, schema, &mut Vec::new(), &mut problems);
    problems
}

fn walk(node: &mut Node, schema: &Json, root: &Json, path: &mut Vec<Step>, problems: &mut Vec<Problem>) {
    let Some(schema) = structural(schema, root) else {
        return;
    };
    match &mut node.value {
        Value::Null | Value::Scalar(_) => {}
        Value::List(items) => {
            let Some(of_items) = schema.get("items") else { return };
            for (index, item) in items.iter_mut().enumerate() {
                path.push(Step::Index(index));
                walk(item, of_items, root, path, problems);
                path.pop();
            }
        }
        Value::Map(members) => {
            let Some(known) = schema.get("properties").and_then(Json::as_object) else {
                return;
            };
            members.retain_mut(|member| {
                path.push(Step::Name(member.name.clone()));
                let kept = match known.get(&member.name) {
                    Some(of_member) => {
                        walk(&mut member.node, of_member, root, path, problems);
                        true
                    }
                    None => {
                        problems.push(Problem {
                            path: path_text(path),
                            origin: member.origin.clone(),
                            message: unknown_message(&member.name, known.keys().map(String::as_str)),
                        });
                        false
                    }
                };
                path.pop();
                kept
            });
        }
    }
}

/// The part of a schema that describes members or elements, behind references and alternatives with null.
fn structural<'a>(schema: &'a Json, root: &'a Json) -> Option<&'a Json> {
    if schema.get("properties").is_some() || schema.get("items").is_some() {
        return Some(schema);
    }
    if let Some(reference) = schema.get("$ref").and_then(Json::as_str) {
        return structural(root.pointer(reference.strip_prefix('#')?)?, root);
    }
    ["anyOf", "allOf"].into_iter().find_map(|word| {
        let alternatives = schema.get(word)?.as_array()?;
        alternatives.iter().find_map(|alternative| structural(alternative, root))
    })
}

fn unknown_message<'a>(name: &str, known: impl Iterator<Item = &'a str> + Clone) -> String {
    match super::nearest(name, known.clone()) {
        Some(near) => format!("unknown key `{name}`, did you mean `{near}`?"),
        None => format!("unknown key `{name}`; known here: {}", known.collect::<Vec<_>>().join(", ")),
    }
}
