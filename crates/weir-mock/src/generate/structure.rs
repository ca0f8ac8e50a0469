//! Objects and arrays.

use serde_json::{Map, Value, json};

use super::{Generator, Spot};

/// Elements of an array that are made where the schema sets no bound.
const ELEMENTS_MAX: u64 = 5;
/// Elements of any array at most.
const ELEMENTS_HARD_MAX: u64 = 10_000;
/// Tries after which arrays are made as short as they may be, and objects small.
const FULL_TRIES_MAX: u64 = 12;
/// Characters of a name that is made from a pattern, at most.
const NAME_MAX: usize = 64;
/// Tries for an element that is unlike the others.
const UNIQUE_TRIES_MAX: u64 = 50;

impl Generator<'_> {
    pub(super) fn object(&self, file: &str, schema: &Value, spot: &Spot) -> Result<Value, String> {
        let required: Vec<&str> = texts(schema.get("required"));
        let mut members = Map::new();
        let properties = schema.get("properties").and_then(Value::as_object);
        for (name, own) in properties.into_iter().flatten() {
            // Write-only properties never appear in an answer.
            if own.get("writeOnly") == Some(&Value::Bool(true)) {
                continue;
            }
            let is_required = required.contains(&name.as_str());
            if !is_required && !self.is_wanted(name, spot) {
                continue;
            }
            match self.value(file, own, &spot.member(name)) {
                Ok(value) => drop(members.insert(name.clone(), value)),
                Err(why) if is_required => return Err(why),
                // An optional property is left out if no value can be generated.
                Err(_) => {}
            }
        }
        let any = Value::Bool(true);
        for name in &required {
            if !members.contains_key(*name) && properties.is_none_or(|all| !all.contains_key(*name))
            {
                let own = self.unnamed(schema, name, spot);
                members.insert((*name).to_owned(), self.value(file, own, &spot.member(name))?);
            }
        }
        for (name, needed) in
            schema.get("dependentRequired").and_then(Value::as_object).into_iter().flatten()
        {
            for other in texts(Some(needed)) {
                if members.contains_key(name.as_str()) && !members.contains_key(other) {
                    let own = properties.and_then(|all| all.get(other)).unwrap_or(&any);
                    members.insert(other.to_owned(), self.value(file, own, &spot.member(other))?);
                }
            }
        }
        if let Some(whole) = with_dependent(schema, &members) {
            // Deeper, so that a schema that depends on itself has an end.
            return self.value(file, &whole, &Spot { depth: spot.depth + 1, ..spot.clone() });
        }
        self.further(file, schema, spot, &mut members)?;
        Ok(Value::Object(members))
    }

    /// The schema of a property that has none by its name: one of a pattern, or that of all
    /// others. Which pattern its name matches is found out by trying.
    fn unnamed<'s>(&self, schema: &'s Value, name: &str, spot: &Spot) -> &'s Value {
        let patterns = schema.get("patternProperties").and_then(Value::as_object);
        let additional = schema.get("additionalProperties").filter(|own| own.is_object());
        let all: Vec<&Value> =
            patterns.into_iter().flat_map(Map::values).chain(additional).collect();
        // Without a schema for all others, they may be anything.
        let count = all.len() + usize::from(additional.is_none());
        let place = format!("{}/{name}:pattern", spot.pointer);
        let at = self.chance.below(&place, spot.attempt, count as u64);
        all.get(usize::try_from(at).unwrap_or(0)).copied().unwrap_or(&Value::Bool(true))
    }

    /// Whether an optional property is generated.
    fn is_wanted(&self, name: &str, spot: &Spot) -> bool {
        if self.is_sparing(spot) {
            return false;
        }
        let place = format!("{}/{name}:there", spot.pointer);
        // After several failed attempts, smaller objects are tried.
        let percent = if spot.attempt > FULL_TRIES_MAX { 30 } else { 85 };
        !self.is_dynamic() || self.chance.happens(&place, spot.attempt, percent)
    }

    /// Properties beyond those named: of a map, of a pattern, or to have enough of them.
    fn further(
        &self,
        file: &str,
        schema: &Value,
        spot: &Spot,
        members: &mut Map<String, Value>,
    ) -> Result<(), String> {
        let count = |key: &str| schema.get(key).and_then(Value::as_u64);
        let (least, most) = (count("minProperties"), count("maxProperties"));
        let additional = schema.get("additionalProperties");
        let patterns = schema.get("patternProperties").and_then(Value::as_object);
        let pattern = patterns.and_then(|all| all.iter().next());
        let is_map = additional.is_some_and(Value::is_object) || pattern.is_some();
        let usual = if members.is_empty() && is_map && !self.is_sparing(spot) { 2 } else { 0 };
        let wanted =
            least.unwrap_or(0).max(usual).min(most.unwrap_or(u64::MAX)).min(ELEMENTS_HARD_MAX);
        let any = Value::Bool(true);
        let names = schema.get("propertyNames").filter(|own| own.is_object());
        let names = names.map(|own| json!({ "allOf": [{ "type": "string" }, own] }));
        let mut n = 0;
        while (members.len() as u64) < wanted && n < wanted + UNIQUE_TRIES_MAX {
            n += 1;
            let place = format!("{}:name", spot.pointer);
            let name = match (pattern, &names) {
                (Some((pattern, _)), _) => {
                    let name = |least| {
                        super::pattern::text(pattern, self.chance, &place, n, least, NAME_MAX)
                    };
                    let first = name(0).unwrap_or_else(|| format!("property{n}"));
                    // A pattern without an end, such as `^x-`, has other names that are longer.
                    let longer = first.chars().count() + usize::try_from(n).unwrap_or(0);
                    let is_taken = members.contains_key(&first);
                    is_taken.then(|| name(longer)).flatten().unwrap_or(first)
                }
                (None, Some(names)) => {
                    let spot =
                        Spot { pointer: place, depth: spot.depth + 1, attempt: n, ..spot.clone() };
                    let name = self.by_chance().value(file, names, &spot)?;
                    name.as_str().map_or_else(|| format!("property{n}"), str::to_owned)
                }
                (None, None) => format!("property{n}"),
            };
            let own = match pattern {
                Some((_, own)) => own,
                None => additional.filter(|own| own.is_object()).unwrap_or(&any),
            };
            let value = self.value(file, own, &spot.member(&name))?;
            members.entry(name).or_insert(value);
        }
        if let Some(most) = most {
            let required = texts(schema.get("required"));
            let mut names: Vec<String> = members.keys().cloned().collect();
            while members.len() as u64 > most
                && let Some(name) = names.pop()
            {
                if !required.contains(&name.as_str()) {
                    members.shift_remove(&name);
                }
            }
        }
        Ok(())
    }

    pub(super) fn array(&self, file: &str, schema: &Value, spot: &Spot) -> Result<Value, String> {
        let count = |key: &str| schema.get(key).and_then(Value::as_u64);
        let any = Value::Bool(true);
        let prefix = schema.get("prefixItems").and_then(Value::as_array);
        let prefix = prefix.map(Vec::as_slice).unwrap_or_default();
        let items = schema.get("items").unwrap_or(&any);
        let contains = schema.get("contains");
        let wants = contains.map_or(0, |_| count("minContains").unwrap_or(1));
        // The contained element must also satisfy the schema of all elements.
        let contained = match contains {
            Some(own) if items.is_object() => json!({ "allOf": [items, own] }),
            Some(own) => own.clone(),
            None => any.clone(),
        };
        let least = count("minItems").unwrap_or(0).max(prefix.len() as u64).max(wants);
        if least > ELEMENTS_HARD_MAX {
            return Err(format!("{}: more than {ELEMENTS_HARD_MAX} elements", spot.pointer));
        }
        let most = count("maxItems").unwrap_or(u64::MAX).max(least);
        // After several failed attempts, fewer elements are tried.
        let few = self.is_sparing(spot) || spot.attempt > FULL_TRIES_MAX;
        let usual = if items == &Value::Bool(false) || few {
            least
        } else if self.is_dynamic() {
            let place = format!("{}:count", spot.pointer);
            least.max(1) + self.chance.below(&place, spot.attempt, ELEMENTS_MAX)
        } else {
            least.max(1)
        };
        let wanted = usual.min(most);
        let is_unique = schema.get("uniqueItems") == Some(&Value::Bool(true));
        let mut elements: Vec<Value> = Vec::new();
        for at in 0..usize::try_from(wanted).unwrap_or(usize::MAX) {
            let own = match prefix.get(at) {
                Some(own) => own,
                None if (at as u64) < prefix.len() as u64 + wants => &contained,
                None => items,
            };
            match self.element(file, own, &spot.element(at), is_unique, &elements) {
                Ok(Some(value)) => elements.push(value),
                // Not so many are unlike.
                Ok(None) if elements.len() as u64 >= least => break,
                Ok(None) => return Err(format!("{}: too few unlike elements", spot.pointer)),
                Err(why) if (elements.len() as u64) < least => return Err(why),
                Err(_) => break,
            }
        }
        Ok(Value::Array(elements))
    }

    fn element(
        &self,
        file: &str,
        schema: &Value,
        spot: &Spot,
        is_unique: bool,
        others: &[Value],
    ) -> Result<Option<Value>, String> {
        let first = self.value(file, schema, spot)?;
        if !is_unique || !others.contains(&first) {
            return Ok(Some(first));
        }
        let by_chance = self.by_chance();
        for n in 1..=UNIQUE_TRIES_MAX {
            let mut other = spot.clone();
            other.pointer = format!("{}~{n}", spot.pointer);
            other.attempt = spot.attempt + n;
            let value = by_chance.value(file, schema, &other)?;
            if !others.contains(&value) {
                return Ok(Some(value));
            }
        }
        Ok(None)
    }
}

/// The schema with what `dependentSchemas` adds for members that are there, if it adds something.
fn with_dependent(schema: &Value, members: &Map<String, Value>) -> Option<Value> {
    let dependent = schema.get("dependentSchemas")?.as_object()?;
    let (needed, other): (Map<_, _>, Map<_, _>) =
        dependent.clone().into_iter().partition(|(name, _)| members.contains_key(name));
    if needed.is_empty() {
        return None;
    }
    let mut whole = schema.as_object()?.clone();
    whole.insert("dependentSchemas".to_owned(), Value::Object(other));
    // The schema has no `allOf` any more: it has been resolved.
    whole.insert("allOf".to_owned(), needed.into_iter().map(|(_, own)| own).collect());
    Some(Value::Object(whole))
}

fn texts(list: Option<&Value>) -> Vec<&str> {
    let list = list.and_then(Value::as_array).into_iter().flatten();
    list.filter_map(Value::as_str).collect()
}
