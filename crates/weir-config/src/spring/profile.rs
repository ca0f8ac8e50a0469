//! Profile expressions: `prod`, `!prod`, `a & b`, `(a | b) & !c` (Spring class `ProfilesParser`).

/// Maximum nesting of parentheses.
const DEPTH_MAX: usize = 16;

/// Whether `expression` is true for the active profiles `active`.
///
/// # Errors
/// The syntax error in the expression.
pub(super) fn holds(expression: &str, active: &[String]) -> Result<bool, &'static str> {
    let mut tokens = Tokens { rest: expression, active };
    let value = tokens.expression(0)?;
    if tokens.rest.trim_start().is_empty() {
        return Ok(value);
    }
    Err("there is more behind its end")
}

struct Tokens<'e> {
    rest: &'e str,
    active: &'e [String],
}

impl Tokens<'_> {
    fn expression(&mut self, depth: usize) -> Result<bool, &'static str> {
        if depth > DEPTH_MAX {
            return Err("it is nested too deep");
        }
        let mut value = self.operand(depth)?;
        let mut operator = None;
        while let Some(next) = self.peek().filter(|c| matches!(c, '&' | '|')) {
            if operator.is_some_and(|operator| operator != next) {
                return Err("`&` and `|` need parentheses to be mixed");
            }
            operator = Some(next);
            self.bump();
            let right = self.operand(depth)?;
            value = if next == '&' { value && right } else { value || right };
        }
        Ok(value)
    }

    fn operand(&mut self, depth: usize) -> Result<bool, &'static str> {
        match self.peek() {
            Some('!') => {
                self.bump();
                if depth > DEPTH_MAX {
                    return Err("it is nested too deep");
                }
                Ok(!self.operand(depth + 1)?)
            }
            Some('(') => {
                self.bump();
                let value = self.expression(depth + 1)?;
                if self.peek() != Some(')') {
                    return Err("a `(` is not closed");
                }
                self.bump();
                Ok(value)
            }
            Some(')' | '&' | '|') | None => Err("a profile name is missing"),
            Some(_) => Ok(self.name()),
        }
    }

    fn name(&mut self) -> bool {
        let ends = |c: char| matches!(c, '!' | '(' | ')' | '&' | '|');
        let end = self.rest.find(ends).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        self.rest = rest;
        self.active.iter().any(|active| active == name.trim())
    }

    fn peek(&mut self) -> Option<char> {
        self.rest = self.rest.trim_start();
        self.rest.chars().next()
    }

    fn bump(&mut self) {
        self.rest = self.rest.get(1..).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use super::holds;

    fn check(expression: &str, expected: Result<bool, ()>) {
        let active = ["a".to_owned(), "b-1".to_owned()];
        assert_eq!(holds(expression, &active).map_err(|_| ()), expected, "for {expression}");
    }

    #[test]
    fn expressions() {
        check("a", Ok(true));
        check("c", Ok(false));
        check("!c", Ok(true));
        check("!!a", Ok(true));
        check("a & b-1", Ok(true));
        check("a & !b-1", Ok(false));
        check("c | a", Ok(true));
        check("(a & c) | b-1", Ok(true));
        check("a & c | b-1", Err(()));
        check("(a", Err(()));
        check("a)", Err(()));
        check("", Err(()));
        check("a &", Err(()));
    }
}
