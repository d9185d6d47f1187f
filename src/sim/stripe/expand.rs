//! `expand[]`: ids that are replaced by their objects (<https://docs.stripe.com/api/expanding_objects>).

use crate::sim::stripe::error::ApiError;
use crate::sim::stripe::params::Params;

/// What is to be expanded.
#[derive(Debug, Clone, Default)]
pub struct Expand(Vec<String>);

impl Expand {
    /// Reads `expand[]` of a call whose objects have these members to expand; those of a list are named `data.<member>`.
    pub fn read(params: &Params, prefix: &str, members: &[&str]) -> Result<Self, ApiError> {
        let mut expand = Vec::new();
        for path in params.list("expand") {
            let member = path.strip_prefix(prefix).filter(|member| members.contains(member)).ok_or_else(|| {
                let message = format!("This property cannot be expanded ({path}).");
                ApiError::parameter("expand", message).code("property_cannot_be_expanded")
            })?;
            expand.push(member.to_owned());
        }
        Ok(Self(expand))
    }

    /// Whether this member is.
    pub fn has(&self, member: &str) -> bool {
        self.0.iter().any(|each| each == member)
    }
}
