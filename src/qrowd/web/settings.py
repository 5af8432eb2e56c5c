"""What a server needs to know: where its data are, its secret, its address."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from itsdangerous import URLSafeTimedSerializer

from qrowd.collection.prolific.calls import TOKEN_VARIABLE
from qrowd.errors import UsageError

SECRET_VARIABLE = "QROWD_SECRET"
SECRET_FILE = "secret.key"
MONITORING_VARIABLE = "QROWD_MONITORING_TOKEN"
SECRET_OF_PROLIFIC = "QROWD_PROLIFIC_SECRET"
LEAST_SECRET = 16


@dataclass(frozen=True)
class Settings:
    """The settings of one server; every process of it has the same."""

    folder: Path
    database: str
    secret: str
    address: str = "http://127.0.0.1:8000"
    log_level: str = "warning"
    log_format: str = "text"
    #: the mail server, "" for none; its password is only known to the process that sends
    mail: str = ""
    mail_password: str = field(default="", repr=False)
    #: whoever sends it may see health and figures, from anywhere; "" for nobody
    monitoring_token: str = field(default="", repr=False)
    #: by which Prolific signs what it tells; "" where no webhook is believed
    prolific_secret: str = field(default="", repr=False)
    #: whether the process for jobs has Prolific's token, and asks and sends by itself
    tells_prolific: bool = False
    #: the folder in which the processes of a server count requests, "" for a process alone
    counts: str = ""

    @classmethod
    def of_folder(
        cls,
        folder: Path,
        database: str = "",
        address: str = "",
        log_level: str = "warning",
        log_format: str = "text",
        mail: str = "",
        mail_password: str = "",
    ) -> Settings:
        """The settings of a server whose data are in `folder`."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
            secret = secret_of(folder)
        except OSError as error:
            message = (
                f"{folder} cannot be made or written to ({error.strerror}); give another folder"
            )
            raise UsageError(message) from None
        database = database or str(folder / "qrowd.db")
        address = (address or cls.address).rstrip("/")
        return cls(
            folder,
            database,
            secret,
            address,
            log_level,
            log_format,
            mail,
            mail_password,
            secret_in(MONITORING_VARIABLE),
            secret_in(SECRET_OF_PROLIFIC),
            bool(os.environ.get(TOKEN_VARIABLE)),
        )

    @property
    def secure_cookies(self) -> bool:
        """Whether browsers may send cookies over HTTPS only."""
        return self.address.startswith("https:")

    def signer(self, salt: str) -> URLSafeTimedSerializer:
        """Signs what goes out in an address and comes back, for one use of it."""
        return URLSafeTimedSerializer(self.secret, salt=salt)


def secret_of(folder: Path) -> str:
    """The server's secret: from the environment, or from a file that only its owner can read."""
    if secret := secret_in(SECRET_VARIABLE):
        return secret
    path = folder / SECRET_FILE
    with suppress(FileExistsError):
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(secrets.token_hex(32) + "\n")
    secret = path.read_text(encoding="utf-8", errors="replace").strip()
    if len(secret) < LEAST_SECRET:  # the disk was full when it was made: anybody could sign links
        raise UsageError(f"{path} holds no secret; remove it, and a new one is made")
    return secret


def secret_in(variable: str) -> str:
    """A secret of the environment, "" if there is none."""
    secret = os.environ.get(variable, "")
    if secret and len(secret) < LEAST_SECRET:
        raise UsageError(f"{variable} must have at least {LEAST_SECRET} characters")
    return secret


def set_up_code(settings: Settings) -> str:
    """What the link to the first account holds."""
    return hmac.new(settings.secret.encode(), b"set-up", hashlib.sha256).hexdigest()[:32]
