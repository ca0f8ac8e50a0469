//! Routes as JSON, and as records of the store.

use weir_admin::read_definition;
use weir_store::{Encoded, StoredRoute};

/// A route in JSON, as the API receives it: an accepted route is written so that the API and the
/// store read it as the same; a refused one comes with a reason.
///
/// # Panics
/// If it does not hold.
pub fn route_json(input: &[u8]) {
    let Ok(json) = serde_json::from_slice::<serde_json::Value>(input) else { return };
    let definition = match read_definition(&json) {
        Ok(definition) => definition,
        Err(problems) => return assert!(!problems.is_empty()),
    };
    let written = serde_json::to_value(&definition).expect("a definition is JSON");
    assert_eq!(read_definition(&written).as_ref(), Ok(&definition));
    let encoded = Encoded::new(&definition).expect("a definition is JSON");
    assert_eq!(encoded.definition().as_ref(), Ok(&definition));
}

/// A record of the store: any bytes are read or refused, and a record that was read is written as
/// the same bytes.
///
/// # Panics
/// If it does not hold.
pub fn store_record(input: &[u8]) {
    let Ok(stored) = StoredRoute::decode(7, input) else { return };
    let Ok(definition) = stored.definition() else { return };
    let encoded = Encoded::new(&definition).expect("a definition is JSON");
    let mut bytes = Vec::new();
    encoded.write(stored.revision, &mut bytes);
    let again = StoredRoute::decode(7, &bytes).expect("a record just written");
    assert_eq!((again.slot, again.revision), (7, stored.revision));
    assert_eq!(again.definition().as_ref(), Ok(&definition));
}
