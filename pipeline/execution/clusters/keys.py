"""The key and the certificate with which the processes of one run identify each other."""

import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import distributed

SINCE = datetime.datetime(2000, 1, 1, tzinfo=datetime.UTC)
UNTIL = datetime.datetime(2100, 1, 1, tzinfo=datetime.UTC)


def temporary() -> "distributed.Security":
    """A `distributed.Security` with a new key, which exists in memory only.

    Like Dask's own, but its certificate is valid from 2000 to 2100. Dask's is valid from now on, so
    a node whose clock is behind, or a clock that is set back, would refuse it. The key is lost when
    the run ends.
    """
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID
    from distributed.security import Security

    private = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "pipeline")])
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(private.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(SINCE)
        .not_valid_after(UNTIL)
        .sign(private, hashes.SHA256())
    )
    cert = signed.public_bytes(serialization.Encoding.PEM).decode()
    key = private.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()
    roles = ("client", "scheduler", "worker")
    return Security(
        require_encryption=True,
        tls_ca_file=cert,
        **{f"tls_{role}_key": key for role in roles},
        **{f"tls_{role}_cert": cert for role in roles},
    )
