//! Parameters: form-encoded, with `name[member]` and `name[]` for what is nested.

use crate::sim::hash::sha256;
use crate::sim::stripe::error::ApiError;
use std::collections::BTreeMap;

/// Parameters as they were sent.
pub struct Params(Vec<(String, String)>);

/// Limits of `metadata` (<https://docs.stripe.com/api/metadata>).
const MAX_METADATA: usize = 50;
const MAX_METADATA_KEY: usize = 40;
const MAX_METADATA_VALUE: usize = 500;

impl Params {
    /// Reads a body or a query.
    pub fn parse(text: &[u8]) -> Self {
        Self(form_urlencoded::parse(text).into_owned().collect())
    }

    /// Refuses parameters that are not known, as Stripe does.
    pub fn only(&self, known: &[&str]) -> Result<(), ApiError> {
        let root = |name: &str| name.split('[').next().unwrap_or_default().to_owned();
        match self.0.iter().map(|(name, _)| root(name)).find(|name| !known.contains(&name.as_str())) {
            Some(name) => {
                let error = ApiError::parameter(&name, format!("Received unknown parameter: {name}"));
                Err(error.code("parameter_unknown"))
            }
            None => Ok(()),
        }
    }

    /// A parameter's text; an empty one is the same as none.
    pub fn text(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().rev().find(|(each, _)| each == name);
        found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }

    /// A parameter that has to be there.
    pub fn required(&self, name: &str) -> Result<&str, ApiError> {
        let missing =
            || ApiError::parameter(name, format!("Missing required param: {name}.")).code("parameter_missing");
        self.text(name).ok_or_else(missing)
    }

    /// A whole number between the two.
    pub fn integer(&self, name: &str, least: i64, most: i64) -> Result<Option<i64>, ApiError> {
        let Some(text) = self.text(name) else {
            return Ok(None);
        };
        let wrong = |message: String| ApiError::parameter(name, message).code("parameter_invalid_integer");
        let number = text.parse().map_err(|_| wrong(format!("Invalid integer: {text}")))?;
        if number < least {
            return Err(wrong(format!("This value must be greater than or equal to {least}.")));
        }
        if number > most {
            return Err(wrong(format!("This value must be less than or equal to {most}.")));
        }
        Ok(Some(number))
    }

    /// `true` or `false`; `false` without it.
    pub fn flag(&self, name: &str) -> Result<bool, ApiError> {
        match self.text(name) {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(other) => Err(ApiError::parameter(name, format!("Invalid boolean: {other}"))),
        }
    }

    /// One of a few words.
    pub fn one_of(&self, name: &str, words: &[&str]) -> Result<Option<String>, ApiError> {
        match self.text(name) {
            Some(word) if !words.contains(&word) => {
                Err(ApiError::parameter(name, format!("Invalid {name}: must be one of {}", words.join(", "))))
            }
            word => Ok(word.map(str::to_owned)),
        }
    }

    /// The values of `name[]`, or of `name[0]` and so on.
    pub fn list(&self, name: &str) -> Vec<&str> {
        let member =
            |each: &str| member_of(each, name).is_some_and(|member| member.parse::<u32>().is_ok() || member.is_empty());
        self.0.iter().filter(|(each, _)| member(each)).map(|(_, value)| value.as_str()).collect()
    }

    /// The members of `metadata`, within Stripe's limits.
    pub fn metadata(&self) -> Result<BTreeMap<String, String>, ApiError> {
        let mut metadata = BTreeMap::new();
        for (name, value) in &self.0 {
            let Some(key) = member_of(name, "metadata") else {
                continue;
            };
            if key.is_empty() || key.chars().count() > MAX_METADATA_KEY {
                return Err(ApiError::parameter("metadata", "Metadata keys must be between 1 and 40 characters long."));
            }
            if value.chars().count() > MAX_METADATA_VALUE {
                let message =
                    format!("Metadata values can have up to 500 characters, but you passed in {key} a longer one.");
                return Err(ApiError::parameter("metadata", message));
            }
            // An empty value removes the key.
            if !value.is_empty() {
                metadata.insert(key.to_owned(), value.clone());
            }
        }
        if metadata.len() > MAX_METADATA {
            return Err(ApiError::parameter("metadata", "Metadata can have up to 50 keys."));
        }
        Ok(metadata)
    }

    /// SHA-256 of the parameters, whatever their order.
    pub fn digest(&self) -> String {
        let mut pairs = self.0.clone();
        pairs.sort();
        sha256(form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish().as_bytes())
    }
}

/// `k` of `root[k]`.
fn member_of<'a>(name: &'a str, root: &str) -> Option<&'a str> {
    name.strip_prefix(root)?.strip_prefix('[')?.strip_suffix(']')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_names() {
        let params = Params::parse(b"metadata[a]=1&metadata[b%20c]=2&expand[0]=x&expand[]=y&n=7&n=8&empty=");
        let metadata = params.metadata().unwrap();
        assert_eq!(metadata.into_iter().map(|(k, v)| format!("{k}={v}")).collect::<Vec<_>>(), ["a=1", "b c=2"]);
        assert_eq!(params.list("expand"), ["x", "y"]);
        assert_eq!(params.integer("n", 0, 9).unwrap(), Some(8));
        assert_eq!(params.text("empty"), None);
        assert!(params.only(&["metadata", "expand", "n"]).is_err());
        assert!(params.only(&["metadata", "expand", "n", "empty"]).is_ok());
    }

    #[test]
    fn the_digest_ignores_order_and_nothing_else() {
        let digest = |text: &str| Params::parse(text.as_bytes()).digest();
        assert_eq!(digest("a=1&b=2"), digest("b=2&a=1"));
        assert_ne!(digest("a=1&b=2"), digest("a=2&b=1"));
        assert_ne!(digest("a=1"), digest("a=1&a=1"));
    }
}
