"""What search engines are told."""

from __future__ import annotations

import subprocess

from warpbook.site import sitemap

LANGUAGES = [{"lang": "en", "path": ""}, {"lang": "zh", "path": "zh/"}]


def test_readers_of_other_languages_get_the_english_page():
    found = sitemap.alternates(LANGUAGES, {"en": "https://w.example/a/", "zh": "https://w.example/zh/a/"})
    assert [(one["lang"], one["absolute"]) for one in found] == [
        ("en", "https://w.example/a/"),
        ("zh", "https://w.example/zh/a/"),
        ("x-default", "https://w.example/a/"),
    ]


def test_each_language_has_a_sitemap():
    text = sitemap.robots("https://w.example/book/", LANGUAGES)
    assert "Sitemap: https://w.example/book/sitemap.xml\nSitemap: https://w.example/book/zh/sitemap.xml\n" in text


def test_a_file_is_as_old_as_its_last_commit(tmp_path, write):
    assert sitemap.changes(tmp_path) == {}
    write("docs/zh/页.md", "x")

    def git(*command: str) -> None:
        subprocess.run(["git", "-C", str(tmp_path), *command], check=True, capture_output=True)

    git("init")
    git("add", "docs")
    day = "2026-01-02T12:00:00+00:00"
    who = ["-c", "user.name=x", "-c", "user.email=x@x.example"]
    subprocess.run(
        ["git", "-C", str(tmp_path), *who, "commit", "-m", "x", "--date", day],
        check=True, capture_output=True, env={"GIT_COMMITTER_DATE": day, "PATH": "/usr/bin:/bin:/usr/local/bin"},
    )  # fmt: skip
    sitemap.changes.cache_clear()
    assert sitemap.changes(tmp_path) == {"docs/zh/页.md": "2026-01-02"}
