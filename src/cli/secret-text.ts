/** What only a private key holds: PEM and PuTTY headers, and the first bytes of OpenSSH's own format in base64. */
export const secretText: RegExp = /PRIVATE KEY|PuTTY-User-Key-File|b3BlbnNzaC1rZXktdjE/;
