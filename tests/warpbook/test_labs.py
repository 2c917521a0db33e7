"""Lab pages keep the cells that mkdocs-jupyter cut, and nothing else of its page."""

from __future__ import annotations

from warpbook.site.labs import cells


def test_only_the_coloured_code_is_kept():
    notebook = """
<script><div class="highlight-ipynb hl-python"><pre><span></span><span class="n">a</span>
<span class="c1"># --8&lt;-- [start:part]</span>
<span class="n">b</span>
</pre></div><div>copy</div></script>"""
    assert cells(notebook) == ['<span></span><span class="n">a</span>\n<span class="n">b</span>']
