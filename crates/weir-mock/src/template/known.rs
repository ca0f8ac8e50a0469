//! The names of all placeholders.

use super::{basic, choose, date, misc, person, place, text, web};

/// Whether there is a placeholder of this name, in lower case.
pub(super) fn is_known(name: &str) -> bool {
    let groups = [
        basic::NAMES,
        choose::NAMES,
        date::NAMES,
        misc::NAMES,
        person::NAMES,
        place::NAMES,
        text::NAMES,
        web::NAMES,
    ];
    groups.iter().any(|names| names.contains(&name))
}
