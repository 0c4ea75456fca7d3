// A pure layer does no I/O: it neither compiles nor passes the linter.
// fires: tsc(TS2591) eslint(no-restricted-imports)
import { readFileSync } from 'node:fs';
// fires: tsc(TS2591) eslint(no-restricted-imports)
import { connect } from 'node:net';
// fires: eslint(no-restricted-imports)
import canonicalize from 'canonicalize';
// fires: tsc(TS2591) eslint(no-restricted-imports) source(no-dynamic-import)
export const later: Promise<unknown> = import('node:child_process');
export const used: readonly unknown[] = [readFileSync, connect, canonicalize];
