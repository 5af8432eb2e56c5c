"""People who want no letters: nothing is kept of them but keyed hashes.

Each hash is keyed with the secret of the campaign that somebody declined. An address that declined
one campaign is written to by no campaign of the database; so is an id of a platform, while what
somebody of an own panel is called may be somebody else in another campaign.
"""

from __future__ import annotations

import hashlib
import hmac

from sqlalchemy import select

from qrowd.collection.database import schema
from qrowd.collection.database.schema import campaign, declined
from qrowd.collection.database.store import Work
from qrowd.collection.people import workers
from qrowd.collection.plan.addresses import same_address

PERSON, EMAIL, LINK = "person", "email", "link"


def remember(work: Work, row: schema.ListedPerson, link_key: str) -> None:
    """Keep that somebody declined; twice is fine."""
    secret = workers.secret_of(work)
    hashes = {
        PERSON: _hash(secret, PERSON, f"{row.platform}\0{row.platform_id}"),
        LINK: _hash(secret, LINK, link_key),
    }
    if row.email:
        hashes[EMAIL] = _hash(secret, EMAIL, same_address(row.email))
    for kind, digest in hashes.items():
        same = work.own(declined) & (declined.c.kind == kind) & (declined.c.hash == digest)
        if not work.count(declined, same):
            work.insert(declined, kind=kind, hash=digest, at=work.now)


def by_link(work: Work, link_key: str) -> bool:
    """Whether somebody has declined by this link before."""
    digest = _hash(workers.secret_of(work), LINK, link_key)
    same = work.own(declined) & (declined.c.kind == LINK) & (declined.c.hash == digest)
    return work.count(declined, same) > 0


def people_declined(work: Work) -> int:
    """How many people have declined this campaign."""
    return work.count(declined, work.own(declined), declined.c.kind == PERSON)


class DeclinedPeople:
    """Everybody who declined a campaign of this database, to look many people up."""

    def __init__(self, work: Work) -> None:
        joined = declined.join(campaign, campaign.c.id == declined.c.campaign_id)
        columns = (campaign.c.id, campaign.c.secret, declined.c.kind, declined.c.hash)
        known = declined.c.kind.in_((PERSON, EMAIL))
        self.campaign, self.platform = work.campaign, work.plan.platform.preset
        self.secrets: dict[int, str] = {}
        self.hashes: set[tuple[int, str, str]] = set()
        for number, secret, kind, digest in work.db.execute(
            select(*columns).select_from(joined).where(known)
        ):
            self.secrets[number] = secret
            self.hashes.add((number, kind, digest))

    def has(self, platform_id: str, email: str) -> bool:
        """Whether somebody known by this id and address has declined."""
        own_panel = self.platform == "own"
        person = f"{self.platform}\0{platform_id}"
        for number, secret in self.secrets.items():
            if email and (number, EMAIL, _hash(secret, EMAIL, same_address(email))) in self.hashes:
                return True
            other = own_panel and number != self.campaign
            if not other and (number, PERSON, _hash(secret, PERSON, person)) in self.hashes:
                return True
        return False


def _hash(secret: str, kind: str, text: str) -> str:
    body = f"declined\0{kind}\0{text}".encode()
    return hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
