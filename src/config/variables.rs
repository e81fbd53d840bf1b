use super::secret::Secret;

/// An invalid setting, as one sentence for the operator.
#[derive(Debug, thiserror::Error)]
#[error("{variable}: {problem}")]
pub struct ConfigError {
    pub variable: String,
    pub problem: String,
}

/// Named values, with the error texts that all variables share.
pub struct Variables<'a>(pub &'a dyn Fn(&str) -> Option<String>);

impl Variables<'_> {
    pub fn text(&self, name: &str) -> Option<String> {
        (self.0)(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
    }

    pub fn parsed<T>(
        &self,
        name: &str,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Result<Option<T>, ConfigError> {
        self.text(name)
            .map(|value| parse(&value).map_err(|problem| problem_with(name, problem)))
            .transpose()
    }

    pub fn secret(&self, name: &str) -> Result<Option<Secret>, ConfigError> {
        if let Some(value) = self.text(name) {
            return Ok(Some(Secret::new(value)));
        }
        let file_variable = format!("{name}_FILE");
        let Some(path) = self.text(&file_variable) else { return Ok(None) };
        let value = std::fs::read_to_string(&path).map_err(|error| {
            problem_with(&file_variable, format!("{path} cannot be read: {error}"))
        })?;
        let value = value.trim();
        if value.is_empty() {
            return Err(problem_with(&file_variable, format!("{path} is empty")));
        }
        Ok(Some(Secret::new(value)))
    }
}

pub fn problem_with(variable: &str, problem: impl Into<String>) -> ConfigError {
    ConfigError { variable: variable.to_owned(), problem: problem.into() }
}
