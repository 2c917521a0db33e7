"""Each page's policy lets in the scripts that the page came with, and no others."""

from __future__ import annotations

from warpbook.site import policy

PAGE = (
    '<head><meta charset="utf-8"><script>a()</script><script src="b.js"></script>'
    '<script id="__config" type="application/json">{}</script></head>'
)


def test_inline_scripts_are_let_in_by_hash():
    # printf 'a()' | openssl dgst -sha256 -binary | base64
    assert policy.scripts(PAGE) == ["'sha256-qVpDBgj7bpq5hMAcGp3AOc79J3Y1Z4HvySTwKrWDoy4='"]


def test_the_policy_comes_before_what_it_is_about():
    made = policy.with_policy(PAGE)
    assert made.index("Content-Security-Policy") < made.index("<script>")
    assert "default-src 'self'; script-src 'self' 'sha256-qVpD" in made
    assert "'unsafe-inline'" not in made.split("style-src")[0]
