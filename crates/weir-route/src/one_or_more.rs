//! A list optimized for one element, which is stored inline.

/// A list of elements; a single one is stored without an allocation.
///
/// Most predicates have one pattern. Stored in the predicate itself, it saves a cache miss in every
/// request for its route.
#[derive(Clone, Debug)]
pub(crate) enum OneOrMore<T> {
    /// The only one.
    One(T),
    /// None, or several.
    List(Box<[T]>),
}

impl<T> OneOrMore<T> {
    /// Memory in bytes outside this value.
    pub(crate) fn heap_bytes(&self) -> usize {
        match self {
            Self::One(_) => 0,
            Self::List(list) => size_of_val(&**list),
        }
    }
}

impl<T> Default for OneOrMore<T> {
    fn default() -> Self {
        Self::List(Box::default())
    }
}

impl<T> From<Vec<T>> for OneOrMore<T> {
    fn from(mut list: Vec<T>) -> Self {
        match list.pop() {
            Some(only) if list.is_empty() => Self::One(only),
            last => {
                list.extend(last);
                Self::List(list.into())
            }
        }
    }
}

impl<T> FromIterator<T> for OneOrMore<T> {
    fn from_iter<I: IntoIterator<Item = T>>(elements: I) -> Self {
        elements.into_iter().collect::<Vec<T>>().into()
    }
}

impl<T> std::ops::Deref for OneOrMore<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        match self {
            Self::One(only) => std::slice::from_ref(only),
            Self::List(list) => list,
        }
    }
}

impl<'a, T> IntoIterator for &'a OneOrMore<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::OneOrMore;

    #[test]
    fn it_is_a_list() {
        for list in [vec![], vec![1], vec![1, 2, 3]] {
            let made = OneOrMore::from(list.clone());
            assert_eq!(*made, list[..]);
            assert_eq!((&made).into_iter().collect::<Vec<_>>(), list.iter().collect::<Vec<_>>());
            assert_eq!(matches!(made, OneOrMore::One(_)), list.len() == 1);
        }
    }
}
