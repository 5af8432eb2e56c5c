"""Small PDF documents and pictures, made by hand."""

from __future__ import annotations

import io
from collections.abc import Sequence


def pdf(
    pages: Sequence[Sequence[str]],
    *,
    size: str = "0 0 400 500",
    catalog: str = "",
    page: str = "",
    objects: Sequence[str] = (),
) -> bytes:
    """A PDF document with the lines of each page; further objects are numbered from 4 on."""
    parts = [
        f"<< /Type /Catalog /Pages 2 0 R {catalog} >>",
        "",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        *objects,
    ]
    kids = []
    for lines in pages:
        shown = " ".join(f"({line}) Tj T*" for line in lines)
        drawn = f"BT /F1 18 Tf 30 450 Td 24 TL {shown} ET"
        parts.append(f"<< /Length {len(drawn)} >>\nstream\n{drawn}\nendstream")
        parts.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [{size}] /Contents {len(parts)} 0 R "
            f"/Resources << /Font << /F1 3 0 R >> >> {page} >>"
        )
        kids.append(f"{len(parts)} 0 R")
    parts[1] = f"<< /Type /Pages /Count {len(kids)} /Kids [{' '.join(kids)}] >>"
    body, places = "%PDF-1.7\n", []
    for number, part in enumerate(parts, 1):
        places.append(len(body))
        body += f"{number} 0 obj\n{part}\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    end = f"trailer << /Size {len(parts) + 1} /Root 1 0 R >>\nstartxref\n{len(body)}\n%%EOF\n"
    return f"{body}xref\n0 {len(parts) + 1}\n0000000000 65535 f \n{table}{end}".encode("latin-1")


def picture(kind: str, width: int, height: int, frames: int = 1) -> bytes:
    """A picture of one colour."""
    from PIL import Image

    made = io.BytesIO()
    images = [Image.new("1", (width, height), at % 2) for at in range(frames)]
    more = {"save_all": True, "append_images": images[1:]} if frames > 1 else {}
    images[0].save(made, kind, **more)
    return made.getvalue()
