//! The keywords of ssh_config: those that steer us, and those that do not matter here.

/// Keywords that this runner heeds.
pub(super) const HEEDED: [&str; 19] = [
    "hostname",
    "port",
    "user",
    "identityfile",
    "identitiesonly",
    "identityagent",
    "certificatefile",
    "userknownhostsfile",
    "globalknownhostsfile",
    "stricthostkeychecking",
    "proxyjump",
    "proxycommand",
    "connecttimeout",
    "connectionattempts",
    "serveraliveinterval",
    "serveralivecountmax",
    "preferredauthentications",
    "hostkeyalias",
    "canonicalizehostname",
];

/// Keywords that change nothing here: other programs' business, or choices that russh makes by itself.
const IGNORED: [&str; 79] = [
    "addkeystoagent",
    "addressfamily",
    "batchmode",
    "bindaddress",
    "bindinterface",
    "canonicaldomains",
    "canonicalizefallbacklocal",
    "canonicalizemaxdots",
    "canonicalizepermittedcnames",
    "casignaturealgorithms",
    "channeltimeout",
    "checkhostip",
    "ciphers",
    "clearallforwardings",
    "compression",
    "controlmaster",
    "controlpath",
    "controlpersist",
    "dynamicforward",
    "enableescapecommandline",
    "enablesshkeysign",
    "escapechar",
    "exitonforwardfailure",
    "fingerprinthash",
    "forkafterauthentication",
    "forwardagent",
    "forwardx11",
    "forwardx11timeout",
    "forwardx11trusted",
    "gatewayports",
    "gssapiauthentication",
    "gssapiclientidentity",
    "gssapidelegatecredentials",
    "gssapikeyexchange",
    "gssapirenewalforcesrekey",
    "gssapiserveridentity",
    "gssapitrustdns",
    "gssapikexalgorithms",
    "hashknownhosts",
    "hostbasedacceptedalgorithms",
    "hostbasedauthentication",
    "hostkeyalgorithms",
    "ignoreunknown",
    "ipqos",
    "kbdinteractiveauthentication",
    "challengeresponseauthentication",
    "kbdinteractivedevices",
    "kexalgorithms",
    "localcommand",
    "localforward",
    "loglevel",
    "logverbose",
    "macs",
    "nohostauthenticationforlocalhost",
    "numberofpasswordprompts",
    "obscurekeystroketiming",
    "passwordauthentication",
    "permitlocalcommand",
    "permitremoteopen",
    "pkcs11provider",
    "proxyusefdpass",
    "pubkeyacceptedalgorithms",
    "pubkeyacceptedkeytypes",
    "pubkeyauthentication",
    "rekeylimit",
    "remoteforward",
    "requesttty",
    "requiredrsasize",
    "revokedhostkeys",
    "securitykeyprovider",
    "sendenv",
    "setenv",
    "streamlocalbindmask",
    "streamlocalbindunlink",
    "syslogfacility",
    "tag",
    "tcpkeepalive",
    "updatehostkeys",
    "visualhostkey",
];

/// Whether a keyword's values gather instead of the first one counting.
pub(super) fn gathers(keyword: &str) -> bool {
    matches!(keyword, "identityfile" | "certificatefile")
}

/// Whether a keyword (lower case) is one of OpenSSH's that we know.
pub(super) fn is_known(keyword: &str) -> bool {
    HEEDED.contains(&keyword) || IGNORED.contains(&keyword)
}

/// All that we know, for suggestions.
pub(super) fn all() -> impl Iterator<Item = &'static str> {
    HEEDED.into_iter().chain(IGNORED)
}
