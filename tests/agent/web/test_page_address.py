"""Which addresses are read, how they are spelled, and which are private."""

import pytest

from co_tui.agent.web.page_address import AddressRefused, is_public, read_address
from tests.support.cases import each_case


@each_case(
    ("text", "url", "host"),
    [
        ("https://Example.COM/a?b=c#d", "https://example.com/a?b=c", "example.com"),
        ("http://example.com.:80", "http://example.com/", "example.com"),
        ("https://example.com:8443/x", "https://example.com:8443/x", "example.com"),
        ("http://bücher.example/", "http://xn--bcher-kva.example/", "xn--bcher-kva.example"),
        ("http://[::ffff:127.0.0.1]/", "http://127.0.0.1/", "127.0.0.1"),
        ("http://１２７.0.0.1/", "http://127.0.0.1/", "127.0.0.1"),
        ("http://[2606:4700:0:0:0:0:0:1]:81/", "http://[2606:4700::1]:81/", "2606:4700::1"),
    ],
)
def test_an_address_has_one_spelling(text: str, url: str, host: str) -> None:
    found = read_address(text)
    assert (found.url, found.host) == (url, host)
    assert read_address(found.url) == found


@each_case(
    "text",
    ["", "example.com", "ftp://example.com", "file:///etc/passwd", "javascript:alert(1)", "http://", "http:///x",
     "http://user@example.com", "http://user:word@example.com", "http://a b.com", "http://exam\nple.com",
     "http://good.example\\@127.0.0.1/", "http://example.com:0", "http://example.com:99999", "http://a..b/",
     "http://-a.com", "http://[::1", "http://[fe80::1%25eth0]/", f"http://{'a' * 70}.com",
     f"http://a.com/{'x' * 2_000}",
     # other spellings of an IP address, which programs read in different ways
     "http://2130706433/", "http://0x7f.1/", "http://017700000001/", "http://127.1/", "http://0/", "http://127.0.0.01/",
     "http://0x7f000001/", "http://1.2.3.4.5/",
     # clouds give keys to whoever asks here
     "http://169.254.169.254/latest/", "http://[::ffff:169.254.169.254]/", "http://[fd00:ec2::254]/"],
)  # fmt: skip
def test_an_odd_address_is_refused_with_a_sentence(text: str) -> None:
    with pytest.raises(AddressRefused, match=r"\.$"):
        read_address(text)


@each_case(
    "host",
    ["127.0.0.1", "127.8.8.8", "10.0.0.1", "192.168.1.1", "172.16.0.1", "169.254.1.1", "100.64.0.1", "0.0.0.0",
     "224.0.0.1", "255.255.255.255", "[::1]", "[::]", "[fe80::1]", "[fc00::1]", "[::ffff:10.0.0.1]", "[::127.0.0.1]",
     "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "localhost", "LOCALHOST.", "app.localhost"],
)  # fmt: skip
def test_a_host_on_this_machine_or_a_private_network_is_private(host: str) -> None:
    assert read_address(f"http://{host}/").is_private


@each_case("host", ["example.com", "1.1.1.1", "[2606:4700::1111]", "localhost.example.com"])
def test_other_hosts_are_not(host: str) -> None:
    assert not read_address(f"http://{host}/").is_private


def test_what_is_no_address_is_not_public() -> None:
    assert is_public("8.8.8.8")
    assert not is_public("example.com")
    assert not is_public("168.63.129.16"), "a cloud's service at a public address"


def test_a_redirect_is_read_like_an_address() -> None:
    here = read_address("https://example.com/a/b")
    assert here.joined("../c").url == "https://example.com/c"
    assert here.joined("//other.example/x").host == "other.example"
    for to in ("file:///etc/passwd", "http://u:p@example.com", "http://0x7f.1"):
        with pytest.raises(AddressRefused):
            here.joined(to)
