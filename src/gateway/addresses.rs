//! Which addresses outgoing requests may reach. Live organisations call the public internet only, so that a setting can
//! never be used to look into the network this service runs in.

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;
use thiserror::Error;

/// How far outgoing requests reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// `https` to public addresses: live organisations.
    Public,
    /// `http` too, and any address: test organisations.
    Any,
}

/// The name has no address that may be called. Says neither name nor address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("no address that may be called")]
pub struct NoAddress;

/// Resolves a name once and hands on only the addresses that may be called; the connection is made to those, so the name
/// cannot resolve to something else in between.
#[derive(Debug, Clone, Copy)]
pub struct Resolver {
    reach: Reach,
}

impl Resolver {
    /// A resolver by the system's rules.
    #[must_use]
    pub fn new(reach: Reach) -> Self {
        Self { reach }
    }
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let reach = self.reach;
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await.map_err(|_| NoAddress)?;
            let allowed = allowed(found, reach)?;
            Ok(Box::new(allowed.into_iter()) as Addrs)
        })
    }
}

fn allowed(found: impl Iterator<Item = SocketAddr>, reach: Reach) -> Result<Vec<SocketAddr>, NoAddress> {
    let allowed: Vec<_> = found.filter(|address| may_call(address.ip(), reach)).collect();
    if allowed.is_empty() { Err(NoAddress) } else { Ok(allowed) }
}

/// Whether an address may be called.
#[must_use]
pub fn may_call(address: IpAddr, reach: Reach) -> bool {
    reach == Reach::Any || is_public(address)
}

/// The address that a URL's host spells, when it spells one (`127.0.0.1`, `[::1]`): such a host is never resolved.
#[must_use]
pub fn literal(host: &str) -> Option<IpAddr> {
    IpAddr::from_str(host.trim_start_matches('[').trim_end_matches(']')).ok()
}

fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

/// Everything but the blocks that IANA's "IPv4 Special-Purpose Address Registry" marks as not globally reachable,
/// multicast and what is reserved.
fn is_public_v4(address: Ipv4Addr) -> bool {
    let special = match address.octets() {
        [0 | 10 | 127, ..] | [169, 254, ..] | [192, 168, ..] | [192, 88, 99, _] | [192, 0, 0 | 2, _] => true,
        [100, second, ..] => (64..128).contains(&second),
        [172, second, ..] => (16..32).contains(&second),
        [198, second, third, _] => second == 18 || second == 19 || (second, third) == (51, 100),
        [203, second, third, _] => (second, third) == (0, 113),
        [first, ..] => first >= 224,
    };
    !special
}

/// Global unicast (`2000::/3`) without the special blocks of IANA's "IPv6 Special-Purpose Address Registry". An address
/// that carries an IPv4 address is judged by that one.
fn is_public_v6(address: Ipv6Addr) -> bool {
    if let Some(mapped) = address.to_ipv4_mapped() {
        return is_public_v4(mapped);
    }
    match address.segments() {
        // NAT64 (RFC 6052), by which IPv6-only machines reach IPv4 servers.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => is_public_v4(Ipv4Addr::from((u32::from(high) << 16) | u32::from(low))),
        // IETF protocol assignments (Teredo, benchmarking …), documentation, 6to4.
        [0x2001, second, ..] => second >= 0x200 && second != 0xdb8,
        [0x2002, ..] | [0x3fff, 0..=0x0fff, ..] => false,
        [first, ..] => (0x2000..0x4000).contains(&first),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PUBLIC: &[&str] = &[
        "1.1.1.1",
        "11.0.0.1",
        "100.63.0.1",
        "100.128.0.1",
        "169.253.0.1",
        "172.15.0.1",
        "172.32.0.1",
        "192.0.1.1",
        "192.167.0.1",
        "198.17.0.1",
        "198.20.0.1",
        "223.255.255.255",
        "2606:4700::1111",
        "2001:4860:4860::8888",
        "2a00::1",
        "::ffff:1.1.1.1",
        "64:ff9b::101:101",
    ];
    const SPECIAL: &[&str] = &[
        "0.0.0.0",
        "0.1.2.3",
        "10.0.0.1",
        "10.255.255.255",
        "100.64.0.1",
        "100.127.255.255",
        "127.0.0.1",
        "127.255.0.1",
        "169.254.169.254",
        "172.16.0.1",
        "172.31.255.255",
        "192.0.0.8",
        "192.0.2.1",
        "192.88.99.1",
        "192.168.1.1",
        "198.18.0.1",
        "198.19.255.255",
        "198.51.100.1",
        "203.0.113.1",
        "224.0.0.1",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "::ffff:169.254.169.254",
        "::127.0.0.1",
        "64:ff9b::7f00:1",
        "64:ff9b:1::1",
        "fe80::1",
        "fec0::1",
        "fc00::1",
        "fd12::1",
        "ff02::1",
        "2001:db8::1",
        "2001::1",
        "2001:10::1",
        "2002:7f00:1::",
        "3fff::1",
        "100::1",
        "5f00::1",
    ];

    #[test]
    fn every_special_block_is_refused_on_live_organisations() {
        for text in PUBLIC {
            assert!(may_call(text.parse().unwrap(), Reach::Public), "{text}");
        }
        for text in SPECIAL {
            assert!(!may_call(text.parse().unwrap(), Reach::Public), "{text}");
            assert!(may_call(text.parse().unwrap(), Reach::Any), "{text}");
        }
    }

    #[test]
    fn only_allowed_addresses_are_handed_on() {
        let both = || ["10.0.0.1:0", "1.1.1.1:0"].into_iter().map(|text| text.parse().unwrap());
        assert_eq!(allowed(both(), Reach::Public).unwrap(), ["1.1.1.1:0".parse().unwrap()]);
        assert_eq!(allowed(both(), Reach::Any).unwrap().len(), 2);
        assert_eq!(allowed(both().take(1), Reach::Public), Err(NoAddress));
    }

    #[test]
    fn literal_hosts_are_read() {
        assert_eq!(literal("[::1]"), Some("::1".parse().unwrap()));
        assert_eq!(literal("127.0.0.1"), Some("127.0.0.1".parse().unwrap()));
        assert_eq!(literal("api.stripe.com"), None);
    }
}
