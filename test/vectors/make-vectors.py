"""
Writes the vectors of this folder. A second implementation of docs/format.md, made from the document alone and sharing no
code with memd: what both agree on is what the document says. Python 3.9, standard library only:

    python3 test/vectors/make-vectors.py

The output is deterministic. Every row names the sentences it tests. `README.md` describes the rows.
"""
import base64
import hashlib
import json
import os
import re
import struct

import ed25519
import nist
import rsa_keys

here = os.path.dirname(os.path.abspath(__file__))


# --- canonical JSON -------------------------------------------------------------------------------------------------

def jcs(value):
    if isinstance(value, dict):
        keys = sorted(value, key=lambda key: key.encode("utf-16-be", "surrogatepass"))
        return "{" + ",".join(jcs(key) + ":" + jcs(value[key]) for key in keys) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(jcs, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def sha256(data):
    return hashlib.sha256(data.encode() if isinstance(data, str) else data).hexdigest()


def b64(data):
    return base64.b64encode(data).decode()


class File:
    def __init__(self, name):
        self.name, self.rows, self.names = name, [], set()

    def row(self, name, sentences, verdict, source, **more):
        assert name not in self.names, name
        self.names.add(name)
        row = {"name": name, "sentences": sentences.split(), "verdict": verdict}
        if isinstance(source, bytes):
            row["hex"] = source.hex()
        elif isinstance(source, str):
            row["text"] = source
        row.update(more)
        self.rows.append(row)

    def accept(self, name, sentences, source, **more):
        self.row(name, sentences, "accept", source, **more)

    def reject(self, name, sentences, source, **more):
        self.row(name, sentences, "reject", source, **more)

    def write(self):
        with open(os.path.join(here, self.name), "w", encoding="ascii", newline="\n") as out:
            for row in self.rows:
                out.write(json.dumps(row, separators=(",", ":")) + "\n")
        print(self.name, len(self.rows))


# --- 1 canonical JSON -----------------------------------------------------------------------------------------------

c = File("canonical.jsonl")
c.accept("the empty object", "F1.2", "{}")
c.accept("nested values", "F1.2 F1.6", '{"a":[1,true,null,"x",{"b":false}],"b":{}}')
c.accept("letters outside ASCII stand raw", "F1.1 F1.3", '{"a":"\u00e9\u20ac\U0001f600"}')
c.accept("a real U+FFFD", "F1.1", '{"a":"\ufffd"}')
c.reject("byte order mark", "F1.1", b'\xef\xbb\xbf{"a":1}')
c.reject("UTF-16", "F1.1", '{"a":1}'.encode("utf-16-le"))
c.reject("a byte that is no UTF-8", "F1.1", b'{"a":"\xff"}')
c.reject("an overlong slash", "F1.1", b'{"a":"\xc0\xaf"}')
c.reject("a surrogate encoded in UTF-8", "F1.1", b'{"a":"\xed\xa0\x80"}')
c.reject("CESU-8", "F1.1", b'{"a":"\xed\xa0\xbd\xed\xb8\x80"}')
c.reject("above U+10FFFF", "F1.1", b'{"a":"\xf4\x90\x80\x80"}')
c.reject("a cut sequence", "F1.1", b'{"a":"\xe2\x82"}')
c.reject("white space after a colon", "F1.2", '{"a": 1}')
c.reject("white space in front", "F1.2", ' {"a":1}')
c.reject("a newline behind", "F1.2", '{"a":1}\n')
c.reject("carriage return behind", "F1.2", '{"a":1}\r')
c.reject("a no-break space behind", "F1.2", '{"a":1}\u00a0')
c.reject("a tab between", "F1.2", '{"a":1,\t"b":2}')
c.reject("members out of order", "F1.2", '{"b":1,"a":2}')
c.reject("members out of order, deeper", "F1.2", '{"a":{"b":1,"a":2}}')
c.reject("members out of order in a list", "F1.2", '[{"b":1,"a":2}]')
c.reject("the same name twice", "F1.2", '{"a":1,"a":1}')
c.reject("the same name twice, once escaped", "F1.2", '{"a":1,"\\u0061":1}')
c.reject("the same name twice, deeper", "F1.2", '{"x":{"op":"assert","op":"retract"}}')
c.reject("the same name twice, apart", "F1.2", '{"a":1,"b":1,"a":1}')
c.accept("order by UTF-16 units: a surrogate pair before U+FB33", "F1.2", '{"\U0001f600":1,"\ufb33":2}')
c.reject("order by code points", "F1.2", '{"\ufb33":2,"\U0001f600":1}')
c.accept("the empty name comes first", "F1.2", '{"":1,"a":2}')
c.accept("a prefix comes before the longer name", "F1.2", '{"a":1,"aa":2,"ab":3}')
c.accept("upper case before lower case", "F1.2", '{"B":1,"a":2}')
c.reject("order of a locale", "F1.2", '{"a":2,"B":1}')
c.reject("nothing", "F1.2", "")
c.reject("two values", "F1.2", "{}{}")
c.reject("a comma at the end", "F1.2", '{"a":1,}')
c.reject("a comment", "F1.2", '{"a":1}//')
c.reject("NUL behind", "F1.2", '{"a":1}\u0000')
c.reject("single quotes", "F1.2", "{'a':1}")
c.reject("a conflict marker", "F1.2", "<<<<<<< HEAD")
c.reject("cut in the middle", "F1.2", '{"a":')
c.reject("upper-case literal", "F1.2", "[True]")
c.accept("escapes of quote and backslash", "F1.3", '{"a":"\\"\\\\"}')
c.accept("newline and tab in content", "F1.3 F1.5", '{"content":"a\\nb\\tc"}')
c.accept("newline and tab in text, deeper", "F1.5", '{"a":[{"text":"a\\nb\\tc"}]}')
c.accept("DEL, NEL, line and paragraph separator and slash stand raw", "F1.3", '{"a":"\u007f\u0085\u2028\u2029/"}')
c.accept("a backslash before letters that would be an escape", "F1.3", '{"a":"\\\\n\\\\u0000\\\\ud800"}')
c.reject("an escaped slash", "F1.3", '{"a":"\\/"}')
c.reject("an escaped letter", "F1.3", '{"a":"\\u0061"}')
c.reject("an escaped letter outside ASCII", "F1.3", '{"a":"\\u00e9"}')
c.reject("an escaped line separator", "F1.3", '{"a":"\\u2028"}')
c.reject("an escaped DEL", "F1.3", '{"a":"\\u007f"}')
c.reject("newline as \\u000a", "F1.3", '{"content":"\\u000a"}')
c.reject("an escaped surrogate pair", "F1.3", '{"a":"\\ud83d\\ude00"}')
c.reject("upper-case hex", "F1.3", '{"a":"\\u001F"}')
c.reject("a raw newline", "F1.3", '{"content":"a\nb"}')
c.reject("a raw tab", "F1.3", '{"content":"a\tb"}')
c.reject("a raw NUL", "F1.3", '{"a":"\u0000"}')
c.reject("a lone high surrogate", "F1.4", '{"a":"\\ud800"}')
c.reject("a lone low surrogate", "F1.4", '{"a":"\\udc00"}')
c.reject("surrogates swapped", "F1.4", '{"a":"\\udc00\\ud800"}')
c.reject("a lone surrogate in a name", "F1.4", '{"\\ud800":1}')
c.reject("a lone surrogate in content", "F1.4", '{"content":"x\\udfff"}')
c.reject("a lone surrogate deep in a list", "F1.4", '{"a":[["\\ud83d"]]}')
for code in range(0x20):
    escape = json.dumps(chr(code))[1:-1]
    if code not in (0x09, 0x0A):
        c.reject("control character %02x in content" % code, "F1.5", '{"content":"%s"}' % escape)
    c.reject("control character %02x in another member" % code, "F1.5", '{"hook":"%s"}' % escape)
c.reject("newline in a name", "F1.5", '{"a\\nb":1}')
c.reject("newline in the name content", "F1.5", '{"content\\n":1}')
c.reject("newline in a list under content", "F1.5", '{"content":["a\\nb"]}')
c.reject("newline in a member under text", "F1.5", '{"text":{"a":"a\\nb"}}')
c.accept("the largest and the smallest number", "F1.6", "[9007199254740991,-9007199254740991,0,-1]")
for number in ("9007199254740992", "9007199254740993", "-9007199254740992", "1e400", "-1e400", "1e3", "1E3", "1e0", "1.0",
               "0.0", "-0", "-0.0", "0.5", "1e-400", "1e21", "100000000000000000000", "01", "+1", "1.", ".5", "0x10", "NaN",
               "Infinity", "1n", "\uff11", "--1", "1e", "1_000"):
    c.reject("the number " + number.replace("\uff11", "full-width 1"), "F1.6", '{"seq":%s}' % number)
c.reject("an exponent balanced by a space", "F1.6 F1.2", '{"a":1e3 }')
for name in ("__proto__", "constructor", "prototype"):
    c.reject("the name " + name, "F1.7", '{"%s":1}' % name)
    c.reject("the name %s, deeper" % name, "F1.7", '{"a":{"%s":{"x":1}}}' % name)
c.accept("names of Object.prototype that reach nothing", "F1.7", '{"hasOwnProperty":1,"toJSON":3,"toString":2,"valueOf":4}')
for name in ("0", "1", "10", "4294967294", "4294967295", "9007199254740993", "1" * 40):
    c.reject("the integer-like name " + name, "F1.8", '{"%s":1}' % name)
c.accept("names that only look like integers", "F1.8", '{"-1":1,"00":2,"01":3,"1a":4,"1e3":5}')
c.accept("six levels of lists", "F1.9", "[" * 6 + "]" * 6)
c.reject("seven levels of lists", "F1.9", "[" * 7 + "]" * 7)
c.accept("six levels of objects", "F1.9", '{"a":' * 5 + "{}" + "}" * 5)
c.reject("seven levels of objects", "F1.9", '{"a":' * 6 + "{}" + "}" * 6)
c.reject("ten thousand levels", "F1.9", "[" * 10000 + "]" * 10000)
c.reject("ten thousand levels, not closed", "F1.2", "[" * 10000)
c.accept("composed and decomposed names are two names", "F1.10", '{"e\u0301":1,"\u00e9":2}')
c.accept("text that is not NFC is read as it is", "F1.10", '{"a":"e\u0301 \u212b"}')
c.write()


# --- keys -----------------------------------------------------------------------------------------------------------

def wire(data):
    data = data.encode() if isinstance(data, str) else data
    return struct.pack(">I", len(data)) + data


def key_blob(raw):
    return wire("ssh-ed25519") + wire(raw)


def key_text(raw):
    return "ssh-ed25519 " + b64(key_blob(raw))


def fingerprint(blob):
    return "SHA256:" + b64(hashlib.sha256(blob).digest()).rstrip("=")


class Key:
    def __init__(self, byte):
        self.seed = bytes([byte]) * 32
        self.raw = ed25519.public(self.seed)
        self.blob = key_blob(self.raw)
        self.text = key_text(self.raw)
        self.fingerprint = fingerprint(self.blob)

    def sign(self, message):
        return ed25519.sign(self.seed, message.encode() if isinstance(message, str) else message)


host, signer, other = Key(1), Key(2), Key(3)


def point_bytes(y, sign=0):
    return int.to_bytes(y | (sign << 255), 32, "little")


small_order = {
    "identity": point_bytes(1), "order 2": point_bytes(ed25519.p - 1), "order 4": point_bytes(0),
    "order 4, negative": point_bytes(0, 1), "order 8": ed25519.compress(ed25519.T),
    "order 8, third multiple": ed25519.compress(ed25519.mul(3, ed25519.T)),
    "order 8, fifth multiple": ed25519.compress(ed25519.mul(5, ed25519.T)),
    "order 8, seventh multiple": ed25519.compress(ed25519.mul(7, ed25519.T)),
}
not_canonical = {
    "identity as p + 1": point_bytes(ed25519.p + 1), "order 4 as p": point_bytes(ed25519.p),
    "identity with sign bit": point_bytes(1, 1), "order 2 with sign bit": point_bytes(ed25519.p - 1, 1),
    "y = 3 + p": point_bytes(3 + ed25519.p),
}
off_curve = next(y for y in range(2, 100) if ed25519.recover_x(y, 0) is None)
mixed = ed25519.compress(ed25519.add(ed25519.mul(ed25519.expand(signer.seed)[0], ed25519.G), ed25519.T))

k = File("key.jsonl")
k.accept("an ed25519 key", "F6.8 F2.4", signer.text, fingerprint=signer.fingerprint)
for what, raw in {**small_order, **not_canonical}.items():
    k.reject("a weak key: " + what, "F6.7", key_text(raw))
k.reject("a key that is no point of the curve", "F6.7", key_text(point_bytes(off_curve)))
k.reject("a key with a torsion part", "F6.7", key_text(mixed))
k.reject("a key of 31 bytes", "F6.8", "ssh-ed25519 " + b64(wire("ssh-ed25519") + wire(signer.raw[:31])))
k.reject("bytes after the key", "F6.8", "ssh-ed25519 " + b64(signer.blob + b"\0"))
k.reject("another type in the text", "F6.8", "ssh-rsa " + b64(signer.blob))
k.reject("another type in the blob", "F6.8", "ssh-ed25519 " + b64(wire("ssh-rsa") + wire(signer.raw)))
k.reject("no type", "F6.8", b64(signer.blob))
k.reject("two spaces", "F6.8", signer.text.replace(" ", "  "))
k.reject("a space in front", "F6.8", " " + signer.text)
k.reject("options in front", "F6.8", 'command="x" ' + signer.text)
k.reject("two keys", "F6.8", signer.text + "\n" + other.text)
k.reject("carriage return behind", "F6.8", signer.text + "\r\n")
k.reject("base64 without its padding", "F1.13 F6.8", key_text(b"x" * 32).rstrip("="))
pad = "ssh-ed25519 " + b64(wire("ssh-ed25519") + wire(signer.raw) + b"\0\0")
k.reject("base64 with pad bits set", "F1.13 F6.8", pad[:-3] + "B==" if pad.endswith("==") else pad)
k.reject("a control character in base64", "F1.13 F6.8", signer.text[:30] + "\t" + signer.text[30:])
k.reject("empty", "F6.8", "")


def mpint(number):
    """Content of the shortest mpint of a positive number."""
    return number.to_bytes(number.bit_length() // 8 + 1, "big")


def ec_blob(curve, P, form=4):
    return wire("ecdsa-sha2-" + curve.name) + wire(curve.name) + wire(curve.encode(P, form))


def rsa_blob(n, e, kind="ssh-rsa"):
    return wire(kind) + wire(mpint(e)) + wire(mpint(n))


def key_of(blob):
    """The text of a blob that begins with its type."""
    return blob[4:4 + struct.unpack(">I", blob[:4])[0]].decode() + " " + b64(blob)


class Ecdsa:
    """A key whose secret is the hash of its name."""
    def __init__(self, curve):
        self.curve = curve
        self.d = int.from_bytes(hashlib.sha512(("vectors " + curve.name).encode()).digest(), "big") % curve.n
        self.point = curve.mul(self.d, curve.G)
        self.blob = ec_blob(curve, self.point)
        self.text = key_of(self.blob)
        self.kind = "ecdsa-sha2-" + curve.name

    def numbers(self, data):
        return self.curve.sign(self.d, data)


class Rsa:
    def __init__(self, bits):
        self.n, self.e, self.d = rsa_keys.make(bits)
        self.size = (bits + 7) // 8
        self.blob = rsa_blob(self.n, self.e)
        self.text = key_of(self.blob)

    def sign(self, data, hash_name="sha512"):
        return rsa_keys.sign(self.n, self.d, data, hash_name)


p256, p384, p521 = Ecdsa(nist.P256), Ecdsa(nist.P384), Ecdsa(nist.P521)
rsa2048, rsa3072 = Rsa(2048), Rsa(3072)
sk_ed = wire("sk-ssh-ed25519@openssh.com") + wire(signer.raw) + wire("ssh:")
sk_ec = wire("sk-ecdsa-sha2-nistp256@openssh.com") + wire("nistp256") + wire(p256.curve.encode(p256.point)) + wire("ssh:")


def good_key(name, sentences, blob):
    k.accept(name, sentences, key_of(blob), fingerprint=fingerprint(blob))


def bad_key(name, sentences, blob):
    k.reject(name, sentences, key_of(blob))


for key in (p256, p384, p521):
    curve, kind = key.curve, key.kind
    good_key("a key on " + curve.name, "F6.9 F6.11 F6.8", key.blob)
    good_key("the point -P on " + curve.name, "F6.11", ec_blob(curve, (key.point[0], curve.p - key.point[1])))
    x, y = key.point
    for what, form in {"compressed": 2 + (y & 1), "hybrid": 6 + (y & 1)}.items():
        bad_key("a %s point on %s" % (what, curve.name), "F6.11", ec_blob(curve, key.point, form))
    for what, content in {
        "infinity": b"\0", "no point": b"", "a point without its form": curve.encode(key.point)[1:],
        "a point cut": curve.encode(key.point)[:-1], "a point with a byte more": curve.encode(key.point) + b"\0",
    }.items():
        bad_key("%s on %s" % (what, curve.name), "F6.11", wire(kind) + wire(curve.name) + wire(content))
    bad_key("a point beside " + curve.name, "F6.11", ec_blob(curve, (x, y ^ 1)))
    bad_key("x + p on " + curve.name, "F6.11", ec_blob(curve, ((x + curve.p) % 256**curve.width, y)))
    small = next(P for P in map(curve.lift, range(1, 100)) if P)
    bad_key("a tiny x on " + curve.name, "F6.11", ec_blob(curve, small))
    bad_key("bytes after a key on " + curve.name, "F6.8", key.blob + b"\0")
    other_curve = "nistp384" if curve.name != "nistp384" else "nistp256"
    bad_key("another curve inside a key on " + curve.name, "F6.11", wire(kind) + wire(other_curve) + wire(curve.encode(key.point)))
good_key("RSA of 2048 bits", "F6.9 F6.12 F6.8", rsa2048.blob)
good_key("RSA of 3072 bits", "F6.12", rsa3072.blob)
odd = rsa2048.n
good_key("RSA of 2049 bits", "F6.12", rsa_blob((1 << 2048) + odd, 65537))
good_key("RSA of 8192 bits", "F6.12", rsa_blob((odd << 6144) + 1, 65537))
good_key("RSA with exponent 2^31 - 1", "F6.12", rsa_blob(odd, 2**31 - 1))
bad_key("RSA of 8193 bits", "F6.12", rsa_blob((1 << 8192) + 1, 65537))
bad_key("RSA of 2047 bits", "F6.12", rsa_blob((1 << 2046) + 1, 65537))
bad_key("RSA of 1024 bits", "F6.12", rsa_blob((1 << 1023) + 1, 65537))
bad_key("RSA with an even modulus", "F6.12", rsa_blob(odd - 1, 65537))
for e in (1, 2, 3, 35, 37, 65535, 65536, 65538, 2**31 + 1, 2**64 + 1):
    bad_key("RSA with exponent %d" % e, "F6.12", rsa_blob(odd, e))
bad_key("RSA with the exponent of the modulus' size", "F6.12", rsa_blob(odd, odd - 2))
bad_key("RSA, exponent with a zero in front", "F6.12", wire("ssh-rsa") + wire(b"\0" + mpint(65537)) + wire(mpint(odd)))
bad_key("RSA, modulus with a zero in front", "F6.12", wire("ssh-rsa") + wire(mpint(65537)) + wire(b"\0" + mpint(odd)))
bad_key("RSA, a negative modulus", "F6.12", wire("ssh-rsa") + wire(mpint(65537)) + wire(mpint(odd)[1:]))
bad_key("RSA, a negative exponent", "F6.12", wire("ssh-rsa") + wire(b"\x81\x00\x01") + wire(mpint(odd)))
bad_key("RSA, zero", "F6.12", wire("ssh-rsa") + wire(mpint(65537)) + wire(b""))
bad_key("RSA without its modulus", "F6.12", wire("ssh-rsa") + wire(mpint(65537)))
bad_key("RSA, numbers swapped", "F6.12", wire("ssh-rsa") + wire(mpint(odd)) + wire(mpint(65537)))
bad_key("bytes after an RSA key", "F6.8", rsa2048.blob + b"\0")
bad_key("RSA named by its signature type", "F6.9 F6.12", rsa_blob(odd, 65537, "rsa-sha2-512"))
good_key("an ed25519 key on a token", "F6.9 F6.13", sk_ed)
good_key("an ECDSA key on a token", "F6.9 F6.13", sk_ec)
good_key("a token key with its own application", "F6.13", sk_ed[:-8] + wire("ssh:caf\u00e9"))
for name, blob in {"ed25519": sk_ed, "ECDSA": sk_ec}.items():
    bad_key("a NUL behind the application, %s" % name, "F6.13", blob[:-8] + wire(b"ssh:\0"))
    bad_key("a NUL in the application, %s" % name, "F6.13", blob[:-8] + wire(b"ssh:\0a"))
    bad_key("a token key without application, %s" % name, "F6.13", blob[:-8])
    bad_key("bytes after a token key, %s" % name, "F6.8", blob + b"\0")
bad_key("a token key of small order", "F6.7 F6.13", wire("sk-ssh-ed25519@openssh.com") + wire(small_order["order 8"]) + wire("ssh:"))
bad_key("a token key beside the curve", "F6.11 F6.13",
        wire("sk-ecdsa-sha2-nistp256@openssh.com") + wire("nistp256") + wire(b"\x04" + b"\x11" * 64) + wire("ssh:"))
bad_key("a token key on another curve", "F6.13",
        wire("sk-ecdsa-sha2-nistp256@openssh.com") + wire("nistp384") + wire(p384.curve.encode(p384.point)) + wire("ssh:"))
for kind, blob in {
    "ssh-dss": wire("ssh-dss") + wire(b"\x01") * 4,
    "ssh-ed25519-cert-v01@openssh.com": wire("ssh-ed25519-cert-v01@openssh.com") + wire(b"n" * 32) + wire(signer.raw),
    "ssh-rsa-cert-v01@openssh.com": wire("ssh-rsa-cert-v01@openssh.com") + wire(b"n" * 32) + rsa2048.blob[11:],
    "ssh-ed448": wire("ssh-ed448") + wire(b"\x01" * 57),
}.items():
    k.reject("a key of type " + kind, "F6.9", kind + " " + b64(blob))
k.reject("an OpenSSH private key", "F6.10", "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEA\n-----END OPENSSH PRIVATE KEY-----\n")
k.reject("an OpenSSH private key as one long line", "F6.10", "-----BEGIN OPENSSH PRIVATE KEY----- b3BlbnNzaC1rZXktdjEA -----END OPENSSH PRIVATE KEY-----")
k.reject("a private key with spaces and carriage returns", "F6.10", "  -----BEGIN EC PRIVATE KEY-----\r\nMHcCAQEE\r\n-----END EC PRIVATE KEY-----\r\n")
k.reject("a PuTTY private key", "F6.10", "PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nPrivate-Lines: 1\nAAAA\n")
k.reject("a private key behind a public one", "F6.10", signer.text + " -----BEGIN OPENSSH PRIVATE KEY-----")
k.reject("a PEM private key", "F6.10", "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIA==\n-----END PRIVATE KEY-----\n")
k.write()


# --- 6 approvals ----------------------------------------------------------------------------------------------------

def to_sign(namespace, message, hash_name="sha512", reserved=b"", digest=None):
    digest = digest or getattr(hashlib, hash_name)(message.encode()).digest()
    return b"SSHSIG" + wire(namespace) + wire(reserved) + wire(hash_name) + wire(digest)


def sshsig_blob(key, signature, namespace="memd-event", hash_name="sha512", reserved=b"", version=1, kind="ssh-ed25519"):
    inner = wire(kind) + wire(signature)
    return (b"SSHSIG" + struct.pack(">I", version) + wire(key) + wire(namespace) + wire(reserved) + wire(hash_name)
            + wire(inner))


def approve(key, message, namespace="memd-event", hash_name="sha512"):
    return b64(sshsig_blob(key.blob, key.sign(to_sign(namespace, message, hash_name)), namespace, hash_name))


a = File("approval.jsonl")


def approval(verdict, name, sentences, sshsig, key=signer, namespace="memd-event", message="hello"):
    a.row(name, sentences, verdict, None, key=key if isinstance(key, str) else key.text, namespace=namespace,
          message=message, sshsig=sshsig)


good = approve(signer, "hello")
blob = base64.b64decode(good)
sig = signer.sign(to_sign("memd-event", "hello"))
approval("accept", "sha512", "F6.1 F6.2 F6.3 F6.4 F6.5 F6.6 F6.7", good)
approval("accept", "sha256", "F6.4", approve(signer, "hello", hash_name="sha256"))
approval("accept", "namespace memd-trust", "F6.3", approve(signer, "hello", "memd-trust"), namespace="memd-trust")
approval("accept", "a message outside ASCII", "F6.2", approve(signer, '{"a":"\u00e9\u2028\U0001f600"}'),
         message='{"a":"\u00e9\u2028\U0001f600"}')
approval("accept", "an empty message", "F6.2", approve(signer, ""), message="")
armor = "-----BEGIN SSH SIGNATURE-----\n" + good + "\n-----END SSH SIGNATURE-----\n"
approval("reject", "with its armor", "F6.1", armor)
approval("reject", "empty", "F6.1", "")
approval("reject", "base64 with a newline", "F1.13 F6.1", good[:70] + "\n" + good[70:])
approval("reject", "base64url", "F1.13 F6.1", good.replace("+", "-").replace("/", "_") if "+" in good or "/" in good else "-")
approval("reject", "base64 without padding, or with one more", "F1.13 F6.1", good.rstrip("=") if good.endswith("=") else good + "=")
respelled = b64(blob + b"\0")
approval("reject", "a byte after the end", "F6.2", respelled)
approval("reject", "other magic", "F6.2", b64(b"SSHSIX" + blob[6:]))
approval("reject", "version 2", "F6.2", b64(sshsig_blob(signer.blob, sig, version=2)))
approval("reject", "reserved bytes, unsigned", "F6.2", b64(sshsig_blob(signer.blob, sig, reserved=b"x")))
approval("reject", "reserved bytes, signed", "F6.2",
         b64(sshsig_blob(signer.blob, signer.sign(to_sign("memd-event", "hello", reserved=b"x")), reserved=b"x")))
approval("reject", "cut in the middle", "F6.2", b64(blob[:90]))
approval("reject", "a length that runs past the end", "F6.2", b64(blob[:10] + b"\xff\xff\xff\xff" + blob[14:]))
inner_extra = b"SSHSIG" + struct.pack(">I", 1) + wire(signer.blob) + wire("memd-event") + wire(b"") + wire("sha512") + wire(
    wire("ssh-ed25519") + wire(sig) + b"\0")
approval("reject", "a byte after the inner signature", "F6.2", b64(inner_extra))
approval("reject", "another namespace", "F6.3", approve(signer, "hello", "memd-trust"))
approval("reject", "a namespace that only begins like it", "F6.3", approve(signer, "hello", "memd-event2"))
approval("reject", "namespace with NUL behind, signature over the plain one", "F6.3",
         b64(sshsig_blob(signer.blob, sig, "memd-event\0")))
approval("reject", "empty namespace", "F6.3", approve(signer, "hello", ""))
approval("reject", "hash sha1", "F6.4", approve(signer, "hello", hash_name="sha1"))
approval("reject", "hash sha384", "F6.4", approve(signer, "hello", hash_name="sha384"))
approval("reject", "hash SHA512", "F6.4", b64(sshsig_blob(signer.blob, sig, hash_name="SHA512")))
approval("reject", "sha256 named over a sha512 digest", "F6.4", b64(sshsig_blob(signer.blob, sig, hash_name="sha256")))
approval("reject", "another key", "F6.5", approve(other, "hello"))
approval("reject", "the signer's key over another's signature", "F6.5",
         b64(sshsig_blob(signer.blob, other.sign(to_sign("memd-event", "hello")))))
approval("reject", "another type inside", "F6.6", b64(sshsig_blob(signer.blob, sig, kind="ssh-rsa")))
approval("reject", "a tampered message", "F6.7", good, message="hellp")
approval("reject", "a message with a newline behind", "F6.7", good, message="hello\n")
S = int.from_bytes(sig[32:], "little")
approval("reject", "S + L", "F6.7", b64(sshsig_blob(signer.blob, sig[:32] + int.to_bytes(S + ed25519.L, 32, "little"))))
approval("reject", "S = 0", "F6.7", b64(sshsig_blob(signer.blob, sig[:32] + bytes(32))))
approval("reject", "a signature of 63 bytes", "F6.7", b64(sshsig_blob(signer.blob, sig[:63])))
approval("reject", "a signature of 65 bytes", "F6.7", b64(sshsig_blob(signer.blob, sig + b"\0")))
for bit in (0, 255, 256, 511):
    flipped = bytearray(sig)
    flipped[bit // 8] ^= 1 << (bit % 8)
    approval("reject", "bit %d of the signature flipped" % bit, "F6.7", b64(sshsig_blob(signer.blob, bytes(flipped))))
# R = identity: s = h * a satisfies the equation, and whoever sees it knows the key.
scalar = ed25519.expand(signer.seed)[0]
R = point_bytes(1)
s = ed25519.h(R + signer.raw + to_sign("memd-event", "hello")) * scalar % ed25519.L
approval("reject", "R = identity, equation holds", "F6.7",
         b64(sshsig_blob(signer.blob, R + int.to_bytes(s, 32, "little"))))
for what, raw in small_order.items():
    weak = b64(sshsig_blob(key_blob(raw), point_bytes(1) + bytes(32)))
    approval("reject", "a key of small order: " + what, "F6.7", weak, key=key_text(raw))


# Other families. `inner`: what stands in the signature field; `rest` follows it (flags and counter of a token).
def other_blob(key_blob_, kind, inner, rest=b"", hash_name="sha512"):
    return b64(b"SSHSIG" + struct.pack(">I", 1) + wire(key_blob_) + wire("memd-event") + wire(b"") + wire(hash_name)
               + wire(wire(kind) + wire(inner) + rest))


data = to_sign("memd-event", "hello")
for key in (p256, p384, p521):
    curve, name = key.curve, key.curve.name
    r, s = key.numbers(data)

    def numbers(verdict, what, r_bytes, s_bytes, more=b"", kind=key.kind, rest=b"", sentences="F6.11"):
        approval(verdict, "%s: %s" % (name, what), sentences, other_blob(key.blob, kind, wire(r_bytes) + wire(s_bytes) + more, rest), key=key)

    numbers("accept", "good", mpint(r), mpint(s))
    numbers("accept", "n - s", mpint(r), mpint(curve.n - s))
    r256, s256 = key.numbers(to_sign("memd-event", "hello", "sha256"))
    approval("accept", name + ": sha256", "F6.4 F6.11",
             other_blob(key.blob, key.kind, wire(mpint(r256)) + wire(mpint(s256)), hash_name="sha256"), key=key)
    numbers("reject", "a zero in front of r", b"\0" + mpint(r), mpint(s))
    numbers("reject", "a zero in front of s", mpint(r), b"\0" + mpint(s))
    numbers("reject", "r + n", mpint(r + curve.n), mpint(s))
    numbers("reject", "s + n", mpint(r), mpint(s + curve.n))
    numbers("reject", "r = n", mpint(curve.n), mpint(s))
    numbers("reject", "s = n", mpint(r), mpint(curve.n))
    numbers("reject", "r = 0", b"", mpint(s))
    numbers("reject", "s = 0", mpint(r), b"")
    numbers("reject", "r = s = 1", b"\1", b"\1")
    numbers("reject", "-r", (-r).to_bytes(curve.width + 1, "big", signed=True), mpint(s))
    numbers("reject", "swapped", mpint(s), mpint(r))
    numbers("reject", "a byte behind s", mpint(r), mpint(s), b"\0")
    numbers("reject", "five bytes behind, as of a token", mpint(r), mpint(s), rest=b"\1\0\0\0\7", sentences="F6.2 F6.11")
    numbers("reject", "as a type of a token", mpint(r), mpint(s), kind="sk-ecdsa-sha2-nistp256@openssh.com", sentences="F6.6")
    der = lambda v: b"\x02" + bytes([len(mpint(v))]) + mpint(v)
    approval("reject", name + ": DER", "F6.11", other_blob(key.blob, key.kind, b"\x30" + bytes([len(der(r) + der(s)) & 255]) + der(r) + der(s)), key=key)
    raw_numbers = r.to_bytes(curve.width, "big") + s.to_bytes(curve.width, "big")
    approval("reject", name + ": r and s of fixed width", "F6.11", other_blob(key.blob, key.kind, raw_numbers), key=key)
    approval("reject", name + ": a tampered message", "F6.11", other_blob(key.blob, key.kind, wire(mpint(r)) + wire(mpint(s))), key=key, message="hellp")
for key in (rsa2048, rsa3072):
    size = "RSA %d" % (key.size * 8)
    for hash_name in ("sha256", "sha512"):
        approval("accept", "%s with %s" % (size, hash_name), "F6.12", other_blob(key.blob, "rsa-sha2-" + hash_name[3:], key.sign(data, hash_name)), key=key)
    number = int.from_bytes(key.sign(data), "big")

    def sized(what, sentences, content, kind="rsa-sha2-512", rest=b""):
        approval("reject", "%s: %s" % (size, what), sentences, other_blob(key.blob, kind, content, rest), key=key)

    whole = key.sign(data)
    sized("a zero in front", "F6.12", b"\0" + whole)
    sized("cut", "F6.12", whole[:-1])
    sized("plus the modulus", "F6.12", (number + key.n).to_bytes(key.size + 1, "big"))
    sized("the modulus minus it", "F6.12", (key.n - number).to_bytes(key.size, "big"))
    sized("zero", "F6.12", bytes(key.size))
    sized("one", "F6.12", (1).to_bytes(key.size, "big"))
    sized("the hash named wrongly", "F6.12", whole, "rsa-sha2-256")
    sized("SHA-1 by its name", "F6.9 F6.12", key.sign(data, "sha1"), "ssh-rsa")
    sized("SHA-1 under a better name", "F6.12", key.sign(data, "sha1"))
    sized("its type is of a certificate", "F6.6 F6.12", whole, "rsa-sha2-512-cert-v01@openssh.com")
    sized("five bytes behind", "F6.2", whole, rest=b"\1\0\0\0\7")
    approval("reject", size + ": a tampered message", "F6.12", other_blob(key.blob, "rsa-sha2-512", whole), key=key, message="hellp")
# A signature whose first byte is zero: whoever cuts it off has another spelling.
tries = next(n for n in range(100000) if rsa2048.sign(to_sign("memd-event", str(n)))[0] == 0)
zero_first = rsa2048.sign(to_sign("memd-event", str(tries)))
approval("accept", "RSA 2048: begins with a zero", "F6.12", other_blob(rsa2048.blob, "rsa-sha2-512", zero_first), key=rsa2048, message=str(tries))
approval("reject", "RSA 2048: that zero cut off", "F6.12", other_blob(rsa2048.blob, "rsa-sha2-512", zero_first[1:]), key=rsa2048, message=str(tries))


def token(verdict, what, kind, flags=1, counter=7, application="ssh:", rest=None, sentences="F6.13", message="hello", named=None):
    tail = bytes([flags]) + struct.pack(">I", counter)
    signed = hashlib.sha256(application.encode()).digest() + tail + hashlib.sha256(data).digest()
    if kind == "sk-ed25519":
        blob, type_, inner = sk_ed, "sk-ssh-ed25519@openssh.com", signer.sign(signed)
    else:
        r, s = p256.numbers(signed)
        blob, type_, inner = sk_ec, "sk-ecdsa-sha2-nistp256@openssh.com", wire(mpint(r)) + wire(mpint(s))
    approval(verdict, "%s: %s" % (kind, what), sentences, other_blob(blob, named or type_, inner, tail if rest is None else rest),
             key=key_of(blob), message=message)


for kind in ("sk-ed25519", "sk-ecdsa"):
    token("accept", "touched", kind)
    token("accept", "touched and verified", kind, flags=5)
    token("accept", "every flag", kind, flags=255)
    token("accept", "the largest counter", kind, counter=2**32 - 1)
    token("reject", "not touched", kind, flags=0)
    token("reject", "verified, not touched", kind, flags=4)
    token("reject", "the flag set afterwards", kind, flags=0, rest=b"\1\0\0\0\7")
    token("reject", "another counter", kind, rest=b"\1\0\0\0\10")
    token("reject", "without its counter", kind, rest=b"\1")
    token("reject", "without flags and counter", kind, rest=b"")
    token("reject", "a byte behind the counter", kind, rest=b"\1\0\0\0\7\0")
    token("reject", "signed for another application", kind, application="https://example.org")
    token("reject", "a tampered message", kind, message="hellp")
    token("reject", "named as a plain key", kind, named="ssh-ed25519" if kind == "sk-ed25519" else "ecdsa-sha2-nistp256", sentences="F6.6 F6.13")
    token("reject", "named webauthn", kind, named="webauthn-sk-ecdsa-sha2-nistp256@openssh.com", sentences="F6.9 F6.13")
approval("reject", "the plain key's signature under its token key", "F6.13", other_blob(sk_ed, "sk-ssh-ed25519@openssh.com", sig, b"\1\0\0\0\7"), key=key_of(sk_ed))
approval("reject", "a token key's blob under the plain key", "F6.5", other_blob(sk_ed, "ssh-ed25519", sig))
a.write()


# --- 5 bodies -------------------------------------------------------------------------------------------------------

mesh = sha256("a mesh of the vectors")
ids = sorted(sha256("event %d" % number) for number in range(70))
common = {"mesh": mesh, "host": "alpha", "session": "s-1", "at": "2026-02-28T23:59:59.999Z", "nonce": "0123456789abcdef" * 2}
minimal = {
    "assert": {"subject": "endpoint/api", "content": "port 5432", "home": "alpha:file:/etc/api.conf#port"},
    "lesson": {"subject": "lesson/quote-paths", "content": "quote paths"},
    "decision": {"subject": "decision/sqlite", "content": "we use SQLite"},
    "question": {"subject": "endpoint/api", "content": "which port?"},
    "observe": {"subject": "home/api", "home": "file:docs/api.md", "digest": "missing"},
    "retract": {"subject": "endpoint/api", "supersedes": ids[:1]},
    "pin": {"subject": "lesson/quote-paths"},
    "deny": {"subject": "note/x"},
}
value_of = {
    "content": "text", "value": "5432", "polarity": "absent", "hook": "one line", "text": "long\n\ttext", "home": "https://example.org/a",
    "digest": "sha256:" + ids[0], "basis": ids[:2], "supersedes": ids[2:4], "names": ["api", "the api"], "scope": "my-project",
    "audience": "reviewers", "confidence": "verified", "lineage": "untrusted", "proposes": "assert",
}
claim = ["hook", "text", "home", "basis", "supersedes", "names", "confidence", "lineage", "content"]
allowed = {
    "assert": claim + ["value", "polarity"],
    "lesson": claim,
    "decision": ["content", "text", "home", "basis", "supersedes", "lineage"],
    "question": ["content", "supersedes", "lineage"],
    "observe": ["home", "digest"],
    "retract": ["supersedes", "content", "lineage"],
    "pin": [],
    "deny": ["content"],
}
required = {"assert": ["home"], "lesson": ["content"], "decision": ["content"], "question": ["content"],
            "observe": ["home", "digest"], "retract": ["supersedes"], "pin": [], "deny": []}


def body(kind, /, **changes):
    proposed = kind.split(" ")
    fields = {**common, "kind": proposed[0], **minimal[proposed[-1]]}
    if len(proposed) == 2:
        fields["proposes"] = proposed[1]
    for name, value in changes.items():
        if value is None:
            fields.pop(name, None)
        else:
            fields[name] = value
    return fields


b = File("body.jsonl")


def good_body(name, sentences, fields):
    b.accept(name, sentences, jcs(fields), id=sha256(jcs(fields)))


def bad_body(name, sentences, fields):
    b.reject(name, sentences, jcs(fields), id=sha256(jcs(fields)))


for kind in list(minimal) + ["propose assert", "propose lesson"]:
    claimed = kind.split(" ")[-1]
    mine = allowed[claimed] + (["proposes"] if " " in kind else [])
    good_body(kind + ": as little as possible", "F5.1 F5.2" + (" F5.11" if " " in kind else ""), body(kind))
    full = {name: value_of[name] for name in allowed[claimed] + ["scope", "audience"]}
    if kind == "deny":
        full["content"] = "secret/aws-access-key"
    good_body(kind + ": every field it may carry", "F5.1", body(kind, **full))
    for name in list(common) + ["kind", "subject"] + required[claimed]:
        bad_body("%s: without %s" % (kind, name), "F5.1", body(kind, **{name: None}))
    for name in value_of:
        if name not in mine + ["scope", "audience"]:
            bad_body("%s: with %s" % (kind, name), "F5.1" + (" F5.11" if name == "proposes" else ""), body(kind, **{name: value_of[name]}))
bad_body("a field of no kind", "F5.1", body("assert", color="red"))
bad_body("a field that differs in case", "F5.1", body("assert", Value="1"))
bad_body("an unknown kind", "F5.2", body("assert", kind="assume"))
bad_body("a kind in upper case", "F5.2", body("assert", kind="Assert"))
bad_body("the name of a table row as kind", "F5.2", body("assert", kind="propose assert"))
bad_body("the name of a table row as kind, with what it proposes", "F5.2", body("assert", kind="propose assert", proposes="assert"))
bad_body("a number as kind", "F5.2", body("assert", kind=1))
bad_body("an empty object", "F5.1", {})
for name, kind in (("session", "assert"), ("content", "lesson"), ("value", "assert"), ("hook", "lesson"), ("text", "lesson"), ("home", "observe")):
    bad_body("an empty " + name, "F5.3", body(kind, **{name: ""}))
for name, kind in (("basis", "assert"), ("supersedes", "retract"), ("names", "lesson")):
    bad_body("an empty list of " + name, "F5.3", body(kind, **{name: []}))
for name, default in (("polarity", "exists"), ("scope", "*"), ("audience", "operator"), ("confidence", "inferred"), ("lineage", "trusted")):
    bad_body("the default of %s written" % name, "F5.4", body("assert", **{name: default}))
for name, word in (("polarity", "Absent"), ("confidence", "sure"), ("lineage", "tainted")):
    bad_body("an unknown word for " + name, "F5.4", body("assert", **{name: word}))
good_body("confidence stated", "F5.4", body("lesson", confidence="stated"))
for subject in ("a/b", "a-1/0", "endpoint/a.b_c:d/e-f", "c" * 31 + "/" + "e" * 120, "a/a.b"):
    good_body("subject " + subject[:24], "F5.5", body("pin", subject=subject))
for subject in ("", "a", "/b", "a/", "A/b", "a/B", "1/b", "a/-b", "a/.b", "a//b", "a/b//c", "a/b..c", "a/../b", "a/b/", "a b/c", "a/b c",
                "a/b\u00e9", "a/\u0430", "-a/b", "a_b/c", "c" * 32 + "/e", "c/" + "e" * 121, "a/b\u200b", "a\uff0fb", "a/b#c", "a/b?"):
    bad_body("no subject: " + ascii(subject[:24]), "F5.5", body("pin", subject=subject))
bad_body("a list as subject", "F5.5", body("pin", subject=["a/b"]))
good_body("64 superseded ids", "F5.6", body("retract", supersedes=ids[:64]))
good_body("16 ids of basis", "F5.6", body("assert", basis=ids[:16]))
bad_body("65 superseded ids", "F5.6", body("retract", supersedes=ids[:65]))
bad_body("17 ids of basis", "F5.6", body("assert", basis=ids[:17]))
bad_body("ids out of order", "F5.6", body("retract", supersedes=[ids[1], ids[0]]))
bad_body("an id twice", "F5.6", body("retract", supersedes=[ids[0], ids[0]]))
bad_body("an id in upper case", "F5.6 F2.2", body("retract", supersedes=[ids[0].upper()]))
bad_body("a short id", "F5.6 F2.2", body("retract", supersedes=[ids[0][:63]]))
bad_body("a long id", "F5.6 F2.2", body("retract", supersedes=[ids[0] + "0"]))
bad_body("an id that is no hex", "F5.6 F2.2", body("retract", supersedes=["g" + ids[0][1:]]))
bad_body("a number in a list of ids", "F5.6", body("retract", supersedes=[1]))
bad_body("ids as one text", "F5.6", body("retract", supersedes=ids[0]))
good_body("16 names of 80 bytes", "F5.7", body("lesson", names=sorted("%02d" % n + "x" * 78 for n in range(16))))
good_body("names outside ASCII", "F5.7", body("lesson", names=["caf\u00e9", "\U0001f600", "\ufb33"]))
bad_body("17 names", "F5.7", body("lesson", names=sorted("%02d" % n for n in range(17))))
bad_body("a name of 81 bytes", "F5.7 F1.12", body("lesson", names=["\u00e9" * 40 + "x"]))
bad_body("names out of order", "F5.7", body("lesson", names=["b", "a"]))
bad_body("a name twice", "F5.7", body("lesson", names=["a", "a"]))
bad_body("names in order of code points", "F5.7", body("lesson", names=["\ufb33", "\U0001f600"]))
bad_body("an empty name", "F5.7 F5.3", body("lesson", names=[""]))
bad_body("a number as name", "F5.7", body("lesson", names=[1]))
for code in (0x85, 0x2028, 0x2029):
    bad_body("hook with U+%04X" % code, "F5.8", body("lesson", hook="a%sb" % chr(code)))
    good_body("content with U+%04X" % code, "F5.8", body("lesson", content="a%sb" % chr(code)))
for home in ("file:a", "file:docs/a b.md#the anchor", "file:/etc/hosts", "alpha:file:/etc/hosts#x#y", "file:.bashrc", "file:a/..b/c..d",
             "https://example.org", "https://example.org:8443/a?b=c#d", "https://a.b-c.example/%20", "git:r:p@main",
             "git:https://example.org/r.git:docs/a.md@v1.2", "git:git@example.org:o/r:a b.md@refs/heads/x", "file-1:file:a", "file:\u00e9"):
    good_body("home " + ascii(home), "F5.9", body("observe", home=home))
for home in ("x", "file:", "file:#a", "file:a#", "file:../a", "file:a/../b", "file:a/..", "file:./a", "alpha:/etc/hosts", "Alpha:file:a",
             "a b:file:x", "file:a/./b", "http://example.org", "https://", "https://Example.org", "https://user:pw@example.org/", "https://example.org/a b",
             "https://example.org:0/", "https://example.org:123456/", "https://exa_mple.org", "https://example.org/\u00e9", "https://[::1]/",
             "https://-a.org", "https:/example.org", "ftp://example.org", "git:r:p", "git:p@main", "git:r:/p@main", "git:r:../p@main", "git:r:p@",
             "git:r:p@-x", "git:r:p@a..b", "git:r:p@a//b", "git:r:p@a/", "git:-o:p@main", "git:r:-p@main", "git:a b:p@main", "git::p@main",
             "git:file:/etc/x", "FILE:a", "file :a", "javascript:alert(1)", "https://example.org@evil.example/"):
    bad_body("no home: " + ascii(home), "F5.9", body("observe", home=home))
good_body("a home of 512 bytes", "F5.9 F5.13", body("observe", home="file:" + "x" * 507))
bad_body("a home of 513 bytes", "F5.9 F5.13", body("observe", home="file:" + "x" * 508))
good_body("assert with value alone", "F5.10", body("assert", content=None, value="5432"))
good_body("assert with both", "F5.10", body("assert", value="5432"))
bad_body("assert with neither", "F5.10", body("assert", content=None))
bad_body("propose of an assert with neither", "F5.10", body("propose assert", content=None))
bad_body("propose of a propose", "F5.11", body("propose assert", proposes="propose"))
bad_body("propose of a decision", "F5.11", body("propose lesson", proposes="decision"))
bad_body("propose of a list", "F5.11", body("propose lesson", proposes=["lesson"]))
bad_body("propose without proposes", "F5.11", body("propose lesson", proposes=None))
bad_body("propose of a lesson with value", "F5.11", body("propose lesson", value="1"))
good_body("deny with a reason code", "F5.12", body("deny", content="secret/aws-access-key"))
for reason in ("it said: password=x", "Secret", "a//b", "\u00e9", "x" * 121):
    bad_body("deny with the text " + ascii(reason[:24]), "F5.12", body("deny", content=reason))
for name, kind, most in (("session", "pin", 128), ("content", "lesson", 4000), ("value", "assert", 512), ("hook", "lesson", 280), ("text", "lesson", 24000)):
    good_body("%s of %d bytes" % (name, most), "F5.13", body(kind, **{name: "x" * most}))
    bad_body("%s of %d bytes" % (name, most + 1), "F5.13", body(kind, **{name: "x" * (most + 1)}))
    wide = "\u20ac" * (most // 3)
    good_body("%s of %d bytes in characters of three" % (name, len(wide.encode())), "F5.13 F1.12", body(kind, **{name: wide}))
    bad_body("%s of too many bytes in characters of three" % name, "F5.13 F1.12", body(kind, **{name: wide + "\u20ac"}))
    bad_body("%s of too many bytes in characters of four" % name, "F5.13 F1.12", body(kind, **{name: "\U0001f600" * (most // 4 + 1)}))
    bad_body("a number as " + name, "F5.13", body(kind, **{name: 1}))
    bad_body("null as " + name, "F5.13", {**body(kind), name: None})
good_body("a digest", "F5.14", body("observe", digest="sha256:" + ids[0]))
for digest in ("sha256:", "sha256:" + ids[0][:63], "sha256:" + ids[0].upper(), "sha1:" + ids[0][:40], ids[0], "Missing", "gone"):
    bad_body("no digest: " + digest[:24] + str(len(digest)), "F5.14", body("observe", digest=digest))
for nonce in ("", "0" * 31, "0" * 33, "A" * 32, "g" * 32):
    bad_body("no nonce: %s of %d" % (nonce[:1], len(nonce)), "F5.14", body("pin", nonce=nonce))
for name in ("host", "scope", "audience"):
    for slug in ("a", "a" * 31, "a-1", "z9-"):
        good_body("%s %s" % (name, slug), "F2.1" + (" F5.14" if name == "host" else ""), body("pin", **{name: slug}))
    for slug in ("", "A", "1a", "-a", "a" * 32, "a_b", "a.b", "a b", "\u00e9", "\u0430lpha", "a\u200b", "a/b", "alpha\u0000"):
        if slug != "alpha\u0000":
            bad_body("no %s: %s" % (name, ascii(slug)), "F2.1" + (" F5.14" if name == "host" else ""), body("pin", **{name: slug}))
bad_body("no mesh: upper case", "F5.14 F2.2", body("pin", mesh=mesh.upper()))
bad_body("no mesh: short", "F5.14 F2.2", body("pin", mesh=mesh[:63]))
good_body("a foreign mesh is well formed", "F5.14", body("pin", mesh=ids[5]))
for at in ("2024-02-29T00:00:00.000Z", "2000-02-29T12:00:00.000Z", "0000-02-29T00:00:00.000Z", "9999-12-31T23:59:59.999Z", "2026-04-30T00:00:00.000Z",
           "2026-12-31T23:59:59.000Z", "1582-10-10T00:00:00.000Z", "2082-01-31T00:00:00.000Z"):
    good_body("at " + at, "F2.5 F5.14", body("pin", at=at))
for at in ("2026-02-29T00:00:00.000Z", "1900-02-29T00:00:00.000Z", "2100-02-29T00:00:00.000Z", "2200-02-29T00:00:00.000Z",
           "2026-02-30T00:00:00.000Z", "2026-04-31T00:00:00.000Z",
           "2026-06-31T00:00:00.000Z", "2026-09-31T00:00:00.000Z", "2026-11-31T00:00:00.000Z", "2026-01-32T00:00:00.000Z", "2026-00-01T00:00:00.000Z",
           "2026-13-01T00:00:00.000Z", "2026-01-00T00:00:00.000Z", "2026-01-01T24:00:00.000Z", "2026-01-01T00:60:00.000Z", "2026-01-01T00:00:60.000Z",
           "2016-12-31T23:59:60.000Z", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00.00Z", "2026-01-01T00:00:00.0000Z", "2026-01-01T00:00:00.000",
           "2026-01-01T00:00:00.000+00:00", "2026-01-01t00:00:00.000Z", "2026-01-01T00:00:00.000z", "2026-1-1T00:00:00.000Z", "26-01-01T00:00:00.000Z",
           "+002026-01-01T00:00:00.000Z", "2026-01-01 00:00:00.000Z", " 2026-01-01T00:00:00.000Z", "2026-01-01T00:00:00,000Z", "now", "", "\u0662026-01-01T00:00:00.000Z"):
    bad_body("not at " + ascii(at), "F2.5 F5.14", body("pin", at=at))
bad_body("a number as at", "F2.5 F5.14", body("pin", at=1767225600000))
b.write()


# --- 4 lines --------------------------------------------------------------------------------------------------------

def auth_of(key, message, name="craig"):
    return {"key": key.fingerprint, "signer": name, "sshsig": approve(key, message)}


def make_line(content, log="alpha", seq=1, prev=mesh, auth=None, v=1, in_mesh=mesh, key=host, sig=None):
    is_hole = isinstance(content, str) and re.fullmatch("[0-9a-f]{64}", content)
    event_id = content if is_hole else sha256(jcs(content))
    header = {"auth": sha256(jcs(auth)) if auth else None, "id": event_id, "log": log, "mesh": in_mesh, "prev": prev, "seq": seq, "v": v}
    link = sha256("memd-link-v1\n" + jcs(header))
    sig = b64(key.sign("memd-line-v1\n" + link)) if sig is None else sig
    line = {"body": content, "log": log, "prev": prev, "seq": seq, "sig": sig, "v": v}
    if auth:
        line["auth"] = auth
    return jcs(line), event_id, link


l = File("line.jsonl")


def good_line(name, sentences, *args, held=None, signature="valid", **more):
    text, event_id, link = make_line(*args, **more)
    l.accept(name, sentences, text, mesh=mesh, key=host.raw.hex(), id=event_id, link=link, held=held, signature=signature)


def bad_line(name, sentences, source):
    l.reject(name, sentences, source, mesh=mesh)


lesson = body("lesson")
approved = auth_of(signer, jcs(lesson))
good_line("a lesson", "F4.1 F4.2 F4.3 F4.4 F4.5 F4.6 F4.7 F4.9 F4.10 F4.11 F2.2", lesson)
good_line("an approved lesson", "F4.2 F4.8 F4.10 F2.4", lesson, auth=approved)
good_line("an approval by nobody known still chains", "F4.8", lesson, auth=auth_of(other, "another text", "nobody"))
good_line("later in the log", "F4.4 F4.5", lesson, seq=42, prev=ids[9])
good_line("the largest seq", "F4.4", lesson, seq=2**53 - 1, prev=ids[9])
good_line("another log", "F4.3 F2.1", lesson, log="b" * 31)
good_line("a hole", "F4.9 F4.12", sha256(jcs(lesson)), held="HOLE")
good_line("a hole under an approval", "F4.9 F4.12", sha256(jcs(lesson)), auth=approved, held="HOLE")
good_line("a hole of a higher version", "F4.9 F4.12", sha256(jcs(lesson)), v=2, held="HOLE")
good_line("version 2", "F4.7 F4.12", {"anything": [{"goes": "here"}]}, v=2, held="UNKNOWN_VERSION")
good_line("version 2 with a body that would do for 1", "F4.7 F4.12", lesson, v=2, held="UNKNOWN_VERSION")
good_line("a body that is null", "F4.12 F4.9", None, held="BODY_SHAPE")
good_line("a body that is a number", "F4.12 F4.9", 7, held="BODY_SHAPE")
good_line("a body that is a list", "F4.12 F4.9", [], held="BODY_SHAPE")
good_line("a body that is another text", "F4.12 F4.9", "purged", held="BODY_SHAPE")
good_line("a body that is 64 hex digits in upper case", "F4.12 F4.9", "A" * 64, held="BODY_SHAPE")
good_line("a body of an unknown kind", "F4.12", body("lesson", kind="wish"), held="KIND_UNKNOWN")
good_line("a body with a missing field", "F4.12", body("lesson", content=None), held="FIELD_MISSING")
good_line("a body with a forbidden field", "F4.12", body("lesson", value="1"), held="FIELD_FORBIDDEN")
good_line("a body with a bad value", "F4.12", body("lesson", at="now"), held="FIELD_VALUE")
good_line("a body of another mesh is well formed", "F4.10 F4.12", body("lesson", mesh=ids[5]))
good_line("a line signed for another mesh", "F4.10 F4.6", lesson, in_mesh=mesh)
foreign_text, foreign_id, _ = make_line(lesson, in_mesh=ids[5])
_, _, own_link = make_line(lesson)
l.accept("the header was that of another mesh", "F4.10 F4.6", foreign_text, mesh=mesh, key=host.raw.hex(), id=foreign_id, link=own_link,
         held=None, signature="invalid")
good_line("signed by another key", "F4.6", lesson, key=other, signature="invalid")
text, _, link = make_line(lesson)
line_sig = host.sign("memd-line-v1\n" + link)
S = int.from_bytes(line_sig[32:], "little")
good_line("S + L", "F4.6", lesson, sig=b64(line_sig[:32] + int.to_bytes(S + ed25519.L, 32, "little")), signature="invalid")
good_line("signature over the link alone", "F4.6", lesson, sig=b64(host.sign(link)), signature="invalid")
good_line("signature over another prefix", "F4.6", lesson, sig=b64(host.sign("memd-view-v1\n" + link)), signature="invalid")
good_line("signature of zeros", "F4.6", lesson, sig=b64(bytes(64)), signature="invalid")
good_line("line and paragraph separators inside", "F1.14 F1.3", body("lesson", content="a\u2028b\u2029c\u0085d\u007fe"))
good_line("text that is not NFC keeps its bytes", "F1.10", body("lesson", content="cafe\u0301 caf\u00e9"))
good_line("quotes, backslashes and newlines", "F1.3 F4.9", body("lesson", content='"\\\n\t\\n', text='","log":"beta","prev":"'))
good_line("a body that imitates the envelope", "F4.9", body("lesson", content='"},"log":"alpha","prev":"' + mesh + '","seq":1'))


def changed(**changes):
    line = json.loads(text)
    for name, value in changes.items():
        if value is ...:
            line.pop(name)
        else:
            line[name] = value
    return jcs(line)


for name in ("body", "log", "prev", "seq", "sig", "v"):
    bad_line("without " + name, "F4.2", changed(**{name: ...}))
bad_line("with a member that is not known", "F4.2", changed(extra=1))
bad_line("with a header written out", "F4.2 F4.10", changed(mesh=mesh))
bad_line("with the link written out", "F4.2", changed(link=link))
bad_line("auth null", "F4.2 F4.8", changed(auth=None))
bad_line("a list", "F4.2", "[]")
bad_line("a text", "F4.2", '"x"')
bad_line("null", "F4.2", "null")
bad_line("empty", "F4.2", "")
for value in ("", "Alpha", "1a", "a" * 32, "a_b", None, 7):
    bad_line("log " + ascii(value), "F4.3 F2.1", changed(log=value))
for value in (0, -1, 2**53, "1", None, True):
    bad_line("seq " + ascii(value), "F4.4" + (" F1.6" if value == 2**53 else ""), changed(seq=value))
for shown, value in (("short", mesh[:63]), ("long", mesh + "0"), ("upper case", mesh.upper()), ("empty", ""), ("null", None)):
    bad_line("prev " + shown, "F4.5 F2.2", changed(prev=value))
sig64 = b64(line_sig)
for shown, value in (("of 63 bytes", b64(line_sig[:63])), ("of 65 bytes", b64(line_sig + b"\0")), ("in hex", line_sig.hex()), ("empty", ""), ("null", None)):
    bad_line("sig " + shown, "F4.6", changed(sig=value))
bad_line("sig without padding", "F4.6 F1.13", changed(sig=sig64.rstrip("=")))
bad_line("sig with pad bits set", "F4.6 F1.13", changed(sig=sig64[:-3] + chr(ord(sig64[-3]) + 1) + "=="))
bad_line("sig in base64url", "F4.6 F1.13", changed(sig="-_" + sig64[2:]))
bad_line("sig with a space", "F4.6 F1.13", changed(sig=" " + sig64[1:]))
for value in (0, -1, "1", None):
    bad_line("v " + ascii(value), "F4.7", changed(v=value))
bad_line("v 1.0", "F4.7 F1.6", text.replace('"v":1}', '"v":1.0}'))
bad_line("seq 1e0", "F4.4 F1.6", text.replace('"seq":1,', '"seq":1e0,'))
for shown, value in (
    ("with a member more", {**approved, "at": "now"}), ("without signer", {name: approved[name] for name in ("key", "sshsig")}),
    ("with an empty sshsig", {**approved, "sshsig": ""}), ("with sshsig in armor", {**approved, "sshsig": armor.rstrip("\n").replace("\n", " ")}),
    ("with a signer that is no slug", {**approved, "signer": "Craig"}), ("that is a list", []), ("that is a text", "x"),
):
    bad_line("auth " + shown, "F4.8", changed(auth=value))
for shown, value in (("padded", signer.fingerprint + "="), ("MD5", "MD5:00:11"), ("short", signer.fingerprint[:-1]), ("with pad bits set", "SHA256:" + "A" * 42 + "B")):
    bad_line("auth key " + shown, "F4.8 F2.4", changed(auth={**approved, "key": value}))
bad_line("auth sshsig with pad bits set", "F4.8 F1.13", changed(auth={**approved, "sshsig": "AB=="}))
room = 32768 - len(make_line({"x": ""}, v=2)[0])
good_line("32768 bytes", "F4.1", {"x": "y" * room}, v=2, held="UNKNOWN_VERSION")
bad_line("32769 bytes", "F4.1", make_line({"x": "y" * (room + 1)}, v=2)[0])
bad_line("32769 bytes in fewer characters", "F4.1 F1.12", make_line({"x": "\u00e9" * (room // 2 + 1) + "y" * (room % 2)}, v=2)[0])
bad_line("a byte order mark", "F1.1", b"\xef\xbb\xbf" + text.encode())
bad_line("a byte that is no UTF-8 in the body", "F1.1", make_line(body("lesson", content="caf\u00e9"))[0].encode("latin-1"))
bad_line("a newline behind", "F1.2", text + "\n")
bad_line("a carriage return behind", "F1.2", text + "\r")
bad_line("a space after a comma", "F1.2", text.replace(",", ", ", 1))
bad_line("two objects on one line", "F1.2", text + text)
bad_line("body last", "F1.2", '{"log"' + text.split(',"log"')[1][:-1] + ',' + text.split(',"log"')[0][1:] + "}")
bad_line("body twice", "F1.2", text.replace('{"body":', '{"body":{},"body":', 1))
bad_line("kind twice in the body", "F1.2", text.replace('"kind":"lesson"', '"kind":"lesson","kind":"lesson"'))
bad_line("an escaped letter in the body", "F1.3", text.replace("quote paths", "quote p\\u0061ths"))
bad_line("a lone surrogate in the body", "F1.4", text.replace("quote paths", "\\ud800"))
bad_line("a control character in a hook", "F1.5", make_line(body("lesson", hook="a\nb"))[0])
bad_line("a control character in a body of version 2", "F1.5", make_line({"x": "a\tb"}, v=2)[0])
bad_line("__proto__ in a body of version 2", "F1.7", make_line({"__proto__": 1}, v=2)[0])
bad_line("an integer-like name in the body", "F1.8", make_line({**lesson, "1": "x"})[0])
good_line("a body of five levels", "F1.9", {"a": [[[[]]]]}, v=2, held="UNKNOWN_VERSION")
bad_line("a body of six levels", "F1.9", make_line({"a": [[[[[]]]]]}, v=2)[0])
l.write()


# --- logs -----------------------------------------------------------------------------------------------------------

g = File("log.jsonl")
anyone = [{"key": host.raw.hex(), "from": 1, "upto": None}]


def make_log(count, **special):
    """Lines 1 to count; special[`at_N`] = arguments of line N."""
    lines, links, prev = [], [mesh], mesh
    for seq in range(1, count + 1):
        arguments = {"content": body("lesson", nonce="%032x" % seq), "seq": seq, "prev": prev, **special.get("at_%d" % seq, {})}
        line, _, prev = make_line(**arguments)
        lines.append(line)
        links.append(prev)
    return lines, links


def log(name, sentences, lines, links, usable, keys=anyone, purged=(), log_of="alpha", file=None):
    g.row(name, sentences, "accept" if usable == len(lines) and file is None else "reject", None, mesh=mesh, host=log_of, keys=keys,
          purged=list(purged), usable=usable, link=links[usable], **({"lines": lines} if file is None else {"fileHex": file.hex()}))


five, links = make_log(5)
bad_sig = {"key": other}
log("five lines", "F4.4 F4.5 F4.11 F4.13", five, links, 5)
log("no line", "F4.13", [], [mesh], 0)
log("a seq is left out", "F4.4", [five[0], five[2]], links, 1)
log("a line twice", "F4.4", [five[0], five[0]], links, 1)
log("begins at two", "F4.4", five[1:], links, 0)
log("a line between", "F4.5", *make_log(3, at_3={"prev": ids[0]}), 2)
log("the first line follows something", "F4.5", *make_log(2, at_1={"prev": ids[0]}), 0)
log("a line of another log", "F4.3", *make_log(3, at_3={"log": "beta"}), 2)
log("another host's log", "F4.3", five, links, 0, log_of="beta")
log("a broken line in the middle", "F4.13", five[:2] + ['{"a":'] + five[3:], links, 2)
log("an empty line in the middle", "F4.13", five[:2] + [""] + five[2:], links, 2)
log("a tampered body", "F4.11 F4.5", five[:2] + [five[2].replace("quote paths", "quote pathz")] + five[3:], links, 2)
log("the last signature is bad", "F4.13 F4.6", *make_log(5, at_5=bad_sig), 4)
log("the last three signatures are bad", "F4.13", *make_log(5, at_3=bad_sig, at_4=bad_sig, at_5=bad_sig), 2)
log("a bad signature that a later one vouches for", "F4.13", *make_log(5, at_2=bad_sig, at_3=bad_sig), 5)
log("no signature is good", "F4.13", *make_log(3, at_1=bad_sig, at_2=bad_sig, at_3=bad_sig), 0)
log("a bad signature before a fault", "F4.13", make_log(4, at_3=bad_sig)[0][:3] + ["x"], make_log(4, at_3=bad_sig)[1], 2)
held_log = make_log(3, at_2={"content": {"kind": "wish"}})
log("a bad body does not end a log", "F4.12 F4.13", *held_log, 3)
log("a higher version does not end a log", "F4.12 F4.13", *make_log(3, at_2={"v": 9}), 3)
hole_id = sha256(jcs(body("lesson", nonce="%032x" % 2)))
hole = make_log(3, at_2={"content": hole_id})
assert hole[1] == make_log(3)[1]
log("a hole that a purge names", "F4.13 F4.9", *hole, 3, purged=[hole_id])
log("a hole that no purge names", "F4.13 F4.9", *hole, 1)
log("a hole that a purge of another event names", "F4.13", *hole, 1, purged=[ids[0]])
log("the key is in force from seq 2", "F4.14", five, links, 5, keys=[{"key": host.raw.hex(), "from": 2, "upto": None}])
log("the key ends at seq 3", "F4.14", five, links, 3, keys=[{"key": host.raw.hex(), "from": 1, "upto": 3}])
log("another key follows", "F4.14", *make_log(5, at_4={"key": other}, at_5={"key": other}), 5,
    keys=[{"key": host.raw.hex(), "from": 1, "upto": 3}, {"key": other.raw.hex(), "from": 4, "upto": None}])
log("the old key after its end", "F4.14", five, links, 3,
    keys=[{"key": host.raw.hex(), "from": 1, "upto": 3}, {"key": other.raw.hex(), "from": 4, "upto": None}])
log("no key at all", "F4.14", five, links, 0, keys=[])
log("a weak host key", "F4.14 F6.7", *make_log(2, at_2={"sig": b64(point_bytes(1) + bytes(32))}), 0,
    keys=[{"key": small_order["identity"].hex(), "from": 1, "upto": None}])
odd = make_log(2, at_1={"content": body("lesson", content="a\u2028b\u2029c\u0085d\u000be".replace("\u000b", ""))})
g.row("a file is split at 0x0A only", "F1.14", "accept", None, mesh=mesh, host="alpha", keys=anyone, purged=[], usable=2, link=odd[1][2],
      fileHex=("\n".join(odd[0]) + "\n").encode().hex())
joined = "\n".join(five)
log("a file without its last newline", "F1.14", five, links, 4, file=joined.encode())
log("a file with carriage returns", "F1.14 F1.2", five, links, 0, file=joined.replace("\n", "\r\n").encode())
log("a file with a blank line", "F1.14", five, links, 2, file=("\n".join(five[:2]) + "\n\n" + "\n".join(five[2:]) + "\n").encode())
log("two lines without a newline between", "F1.14", five, links, 1, file=(five[0] + "\n" + five[1] + five[2] + "\n").encode())
log("a file with a byte that is no UTF-8", "F1.1 F1.14", five, links, 2,
    file=("\n".join(five[:2]) + "\n").encode() + b"\xff\n" + ("\n".join(five[2:]) + "\n").encode())
log("a file that begins with a byte order mark", "F1.1 F1.14", five, links, 0, file=b"\xef\xbb\xbf" + (joined + "\n").encode())
g.write()


# --- 3 trust ops ----------------------------------------------------------------------------------------------------

t = File("trust-op.jsonl")
signer_fields = {"name": "craig", "key": signer.text, "scopes": ["*", "charter", "purge"]}
by = {"key": signer.fingerprint, "signer": "craig"}
stem = {"by": by, "at": common["at"], "nonce": common["nonce"]}
ssh = Key(4)
genesis = {
    **stem, "op": "genesis", "prev": [], "name": "home", "signer": signer_fields,
    "host": {"name": "alpha", "sign": host.text, "ssh": ssh.text, "address": "ssh://127.0.0.1:7422"},
    "classes": {"note": {"claims": "fact", "description": "Anything", "revise": "mesh"}, "question": {"description": "Open points"}},
    "audiences": {"operator": {"includes": []}}, "policy": {"index.bytes": 22000, "notify.order": "alpha,beta"},
}
genesis_id = sha256(jcs(genesis))
member = {**stem, "mesh": genesis_id, "prev": [genesis_id]}
host_add = {**member, "op": "host-add", "name": "beta", "sign": Key(5).text, "ssh": Key(6).text, "address": ""}
signer_add = {**member, "op": "signer-add", "name": "dana", "key": other.text, "scopes": ["note/*"]}
class_add = {**member, "op": "class-add", "name": "recipe", "description": "How to cook", "revise": "host", "claims": "rule"}


def op_text(content, auth=None, key=signer):
    auth = auth or {"key": key.fingerprint, "signer": "craig", "sshsig": approve(key, jcs(content), "memd-trust")}
    return jcs({"auth": auth, "body": content})


def good_op(name, sentences, content, supported=True):
    t.accept(name, sentences, op_text(content), id=sha256(jcs(content)), supported=supported)


def bad_op(name, sentences, content):
    t.reject(name, sentences, content if isinstance(content, (str, bytes)) else op_text(content))


good_op("genesis", "F3.1 F3.2 F3.3 F3.4 F3.5 F3.6 F3.7 F3.8 F3.9 F3.10", genesis)
good_op("host-add", "F3.1 F3.4 F3.5 F3.6 F3.7 F3.10", host_add)
good_op("signer-add", "F3.6 F3.9", signer_add)
good_op("class-add", "F3.6", class_add)
good_op("64 ancestors", "F3.5", {**host_add, "prev": sorted(ids[:64])})
place = {"seq": 12, "link": ids[3]}
before = {"seq": 0, "link": genesis_id}
host_rekey = {**member, "op": "host-rekey", "name": "beta", "sign": Key(7).text, "ssh": Key(8).text, "pin": place}
host_revoke = {**member, "op": "host-revoke", "name": "beta", "pin": place}
signer_revoke = {**member, "op": "signer-revoke", "name": "dana", "marks": {"alpha": place, "beta": before}}
audience_add = {**member, "op": "audience-add", "name": "reviewers", "includes": ["operator"]}
policy_set = {**member, "op": "policy-set", "key": "index.lines", "value": 90}
delegate = {**member, "op": "delegate", "host": "beta", "key": Key(5).text, "subjects": ["note/*", "ssh-route/*"],
            "kinds": ["assert", "retract"], "from": 13, "upto": 212}
skeleton = {"id": ids[4], "host": "beta", "kind": "assert", "subject": "note/x", "scope": "*", "audience": "operator", "lineage": "trusted",
            "level": "unsigned", "key": sha256(jcs([None, "exists", "v", "secret"])), "home": None, "digest": None,
            "supersedes": sorted([ids[5], ids[6]]), "basis": []}
sighting = {**skeleton, "id": ids[7], "kind": "observe", "key": None, "home": "file:/etc/hosts", "digest": "missing", "supersedes": [],
            "scope": "lab", "audience": "reviewers", "lineage": "untrusted", "level": "signed"}
purge = {**member, "op": "purge", "targets": sorted([skeleton, sighting], key=lambda one: one["id"]), "reason": "secret"}
good_op("host-rekey", "F3.6 F3.12", host_rekey)
good_op("host-revoke", "F3.6 F3.12", host_revoke)
good_op("host-revoke before the first line", "F3.12", {**host_revoke, "pin": before})
good_op("signer-revoke", "F3.6 F3.12", signer_revoke)
good_op("signer-revoke with no mark", "F3.6", {**signer_revoke, "marks": {}})
good_op("256 marks", "F3.6", {**signer_revoke, "marks": {"h%d" % n: place for n in range(256)}})
good_op("audience-add", "F3.6", audience_add)
good_op("audience-add that includes nothing", "F3.6", {**audience_add, "includes": []})
good_op("policy-set", "F3.6", policy_set)
good_op("policy-set to a text", "F3.6", {**policy_set, "value": "alpha,beta"})
good_op("delegate", "F3.6 F3.13", delegate)
good_op("delegate of one line", "F3.13", {**delegate, "upto": 13})
good_op("delegate of 10000 lines", "F3.13", {**delegate, "upto": 10012})
good_op("purge", "F3.6 F3.14", purge)
good_op("purge of 64 events", "F3.14", {**purge, "targets": [{**skeleton, "id": one, "supersedes": []} for one in sorted(ids[:64])]})
for op in ("host-rename", "purge-all"):
    good_op(op + " of a later version is kept", "F3.11", {**member, "op": op, "name": "beta", "anything": {"at": ["all"]}}, supported=False)
bad_op("an op of a later version without ancestors", "F3.11 F3.5", {**member, "op": "host-rename", "prev": []})
bad_op("an op whose name is none", "F3.11 F3.4", {**member, "op": "Host-Rename"})
for content, change, sentences in (
        (host_rekey, {"sign": rsa2048.text}, "F3.7"), (host_rekey, {"ssh": host_rekey["sign"]}, "F3.7"),
        (host_rekey, {"pin": {"seq": 0, "link": ids[3]}}, "F3.12"), (host_rekey, {"pin": {"seq": 1, "link": genesis_id}}, "F3.12"),
        (host_rekey, {"pin": {"seq": -1, "link": ids[3]}}, "F3.12"), (host_rekey, {"pin": {"seq": "1", "link": ids[3]}}, "F3.12"),
        (host_rekey, {"pin": {**place, "host": "beta"}}, "F3.12"), (host_rekey, {"pin": None}, "F3.12"),
        (host_revoke, {"pin": {"seq": 12}}, "F3.12"), (host_revoke, {"pin": {"seq": 12, "link": "x"}}, "F3.12"),
        (signer_revoke, {"marks": {"alpha": {"seq": 0, "link": ids[3]}}}, "F3.12"), (signer_revoke, {"marks": {"Alpha": place}}, "F3.6 F2.1"),
        (signer_revoke, {"marks": []}, "F3.6"), (signer_revoke, {"marks": {"h%d" % n: place for n in range(257)}}, "F3.6"),
        (audience_add, {"includes": ["reviewers", "operator"]}, "F3.6"), (audience_add, {"includes": ["Operator"]}, "F3.6"),
        (policy_set, {"key": "Index"}, "F3.6"), (policy_set, {"value": None}, "F3.6"), (policy_set, {"value": "x" * 513}, "F3.6"),
        (policy_set, {"value": [1]}, "F3.6"),
        (delegate, {"key": p256.text}, "F3.7"), (delegate, {"subjects": []}, "F3.13"), (delegate, {"subjects": ["charter"]}, "F3.13"),
        (delegate, {"subjects": ["purge"]}, "F3.13"), (delegate, {"subjects": ["b/*", "a/*"]}, "F3.13"), (delegate, {"kinds": []}, "F3.13"),
        (delegate, {"kinds": ["retract", "assert"]}, "F3.13"), (delegate, {"kinds": ["rumour"]}, "F3.13"), (delegate, {"from": 0}, "F3.13"),
        (delegate, {"upto": 12}, "F3.13"), (delegate, {"upto": 10013}, "F3.13"),
        (purge, {"targets": []}, "F3.14"), (purge, {"targets": purge["targets"][::-1]}, "F3.14"), (purge, {"targets": [skeleton, skeleton]}, "F3.14"),
        (purge, {"reason": "It was secret"}, "F3.14"), (purge, {"reason": ""}, "F3.14"),
        (purge, {"targets": [{**skeleton, "id": one, "supersedes": []} for one in sorted(ids[:65])]}, "F3.14")):
    bad_op("%s with %s" % (content["op"], ascii(change)[:60]), sentences, {**content, **change})
for member_name, value in (("id", "x"), ("host", "Beta"), ("kind", "rumour"), ("subject", "note"), ("scope", "Lab"), ("audience", "*"),
                           ("lineage", "clean"), ("level", "sworn"), ("key", "secret"), ("home", "somewhere"), ("digest", "sha256:00"),
                           ("supersedes", [ids[5], ids[5]]), ("basis", None), ("content", "the secret")):
    bad_op("a skeleton whose %s is %s" % (member_name, ascii(value)[:20]), "F3.14", {**purge, "targets": [{**skeleton, member_name: value}]})
bad_op("a skeleton without a level", "F3.14", {**purge, "targets": [{key: value for key, value in skeleton.items() if key != "level"}]})
for key in (rsa2048, p256, p384, p521):
    good_op("a signer with a key of type " + key.text.split(" ")[0], "F3.7 F6.9", {**signer_add, "key": key.text})
for blob in (sk_ed, sk_ec):
    good_op("a signer with a key of type " + key_of(blob).split(" ")[0], "F3.7 F6.9", {**signer_add, "key": key_of(blob)})
bad_op("a signer with a DSA key", "F3.7 F6.9", {**signer_add, "key": key_of(wire("ssh-dss") + wire(b"\x01") * 4)})
for member_name in ("sign", "ssh"):
    for blob in (rsa2048.blob, p256.blob, sk_ed):
        bad_op("a host whose %s key is %s" % (member_name, key_of(blob).split(" ")[0]), "F3.7", {**host_add, member_name: key_of(blob)})
bad_op("a genesis whose host signs with RSA", "F3.7", {**genesis, "host": {**genesis["host"], "sign": rsa2048.text}})


def signed_header(**change):
    head = {"auth": None, "id": ids[8], "log": "beta", "mesh": genesis_id, "prev": ids[9], "seq": 7, "v": 1, **change}
    link = sha256("memd-link-v1\n" + jcs(head))
    return {"header": head, "sig": b64(Key(5).sign("memd-line-v1\n" + link))}


def by_link(*lines):
    return sorted(lines, key=lambda one: sha256("memd-link-v1\n" + jcs(one["header"])))


two = by_link(signed_header(), signed_header(id=ids[10]))
proof = {"host": "beta", "mesh": genesis_id, "op": "fork-proof", "prev": [sha256(jcs(host_add))], "lines": two}
t.accept("a fork-proof has no approval", "F3.1 F3.15", jcs({"body": proof}), id=sha256(jcs(proof)), supported=True)
for name, change in (("a stem", stem), ("one line", {"lines": two[:1]}), ("three lines", {"lines": two + two[:1]}), ("one line twice", {"lines": [two[0], two[0]]}),
                     ("lines out of order", {"lines": two[::-1]}), ("another host", {"host": "gamma"}), ("another mesh", {"mesh": ids[0]}),
                     ("two keys", {"prev": sorted(ids[:2])}), ("no key", {"prev": []}),
                     ("lines of two seqs", {"lines": by_link(signed_header(), signed_header(seq=8))}),
                     ("a line before the first", {"lines": by_link(signed_header(seq=0), signed_header(seq=0, id=ids[10]))}),
                     ("a signature that is none", {"lines": [two[0], {**two[1], "sig": "AAAA"}]}),
                     ("a body in a header", {"lines": [two[0], {**two[1], "body": {}}]})):
    bad_op("a fork-proof with " + name, "F3.15", jcs({"body": {**proof, **change}}))
bad_op("a fork-proof with an approval", "F3.1 F3.15", op_text({**proof, **stem}))
bad_op("without auth", "F3.1", jcs({"body": host_add}))
bad_op("without body", "F3.1", jcs({"auth": auth_of(signer, "x")}))
bad_op("a member more", "F3.1", jcs({**json.loads(op_text(host_add)), "id": genesis_id}))
bad_op("a list", "F3.1", "[]")
bad_op("not canonical", "F3.1 F1.2", op_text(host_add).replace(",", ", ", 1))
bad_op("too long", "F3.1", op_text({**class_add, "description": "x" * 66000}))
bad_op("approved by another than by says", "F3.3", op_text(host_add, key=other))
bad_op("another signer name in auth", "F3.3",
       op_text(host_add, {"key": signer.fingerprint, "signer": "dana", "sshsig": approve(signer, jcs(host_add), "memd-trust")}))
for name in ("mesh", "op", "by", "prev", "at", "nonce"):
    bad_op("host-add without " + name, "F3.4", {key: value for key, value in host_add.items() if key != name})
bad_op("genesis with mesh", "F3.4", {**genesis, "mesh": genesis_id})
bad_op("at that does not exist", "F3.4 F2.5", {**host_add, "at": "2026-02-30T00:00:00.000Z"})
bad_op("nonce too short", "F3.4", {**host_add, "nonce": "00"})
bad_op("by with a member more", "F3.4", {**host_add, "by": {**by, "at": "now"}})
bad_op("genesis with ancestors", "F3.5", {**genesis, "prev": [ids[0]]})
bad_op("host-add without ancestors", "F3.5", {**host_add, "prev": []})
bad_op("ancestors out of order", "F3.5", {**host_add, "prev": [ids[1], ids[0]]})
bad_op("an ancestor twice", "F3.5", {**host_add, "prev": [ids[0], ids[0]]})
bad_op("65 ancestors", "F3.5", {**host_add, "prev": sorted(ids[:65])})
bad_op("an ancestor that is no id", "F3.5 F2.2", {**host_add, "prev": ["x"]})
for content in (host_add, signer_add, class_add, host_rekey, host_revoke, signer_revoke, audience_add, policy_set, delegate, purge):
    for name in [name for name in content if name not in ("mesh", "op", "by", "prev", "at", "nonce")]:
        bad_op("%s without %s" % (content["op"], name), "F3.6", {key: value for key, value in content.items() if key != name})
    bad_op(content["op"] + " with a member more", "F3.6", {**content, "color": "red"})
for name in ("name", "signer", "host", "classes", "audiences", "policy"):
    bad_op("genesis without " + name, "F3.6", {key: value for key, value in genesis.items() if key != name})
bad_op("a class that cannot be revised by anybody", "F3.6", {**class_add, "revise": "nobody"})
bad_op("a class that claims opinions", "F3.6", {**class_add, "claims": "opinion"})
bad_op("a description of two lines", "F3.6 F1.5", {**class_add, "description": "a\nb"})
bad_op("a description of 281 bytes", "F3.6", {**class_add, "description": "x" * 281})
bad_op("a name that is no slug", "F3.6 F2.1", {**host_add, "name": "Beta"})
bad_op("65 classes", "F3.6", {**genesis, "classes": {"c%d" % n: {"description": "x"} for n in range(65)}})
bad_op("a key with a comment", "F3.7", {**signer_add, "key": other.text + " dana@laptop"})
bad_op("a key of small order", "F3.7 F6.7", {**signer_add, "key": key_text(small_order["order 8"])})
bad_op("a text that is no key", "F3.7", {**signer_add, "key": "ssh-ed25519"})
bad_op("one key twice", "F3.7", {**host_add, "ssh": host_add["sign"]})
bad_op("a genesis whose host has the signer's key", "F3.7", {**genesis, "host": {**genesis["host"], "sign": signer.text}})
bad_op("a genesis without a charter signer", "F3.8", {**genesis, "signer": {**signer_fields, "scopes": ["*"]}})
bad_op("a genesis without the audience operator", "F3.8", {**genesis, "audiences": {}})
bad_op("a genesis that names another signer than it is approved by", "F3.8", {**genesis, "signer": {**signer_fields, "name": "dana"}})
for scopes in ([], ["charter", "*"], ["*", "*"], ["note"], ["**"], ["Note/*"], ["note/ x"], [""], ["x" * 152 + "/"], ["a/%02d" % n for n in range(65)], "charter"):
    bad_op("scopes " + ascii(scopes)[:40], "F3.9", {**signer_add, "scopes": scopes})
for address in ("ssh://[2001:db8::1]:22", "ssh://a.b-c.example:65535", ""):
    good_op("address " + repr(address), "F3.10", {**host_add, "address": address})
for address in ("alpha:7422", "ssh://alpha", "ssh://Alpha:1", "ssh://alpha:0", "ssh://alpha:65536", "ssh://alpha:01", "ssh://user@alpha:1",
                "ssh://-oProxyCommand=x:1", "ssh://alpha:1/", "ssh://a..b:1", "https://alpha:1", "ssh://alpha :1", None):
    bad_op("address " + ascii(address), "F3.10", {**host_add, "address": address})
t.write()
