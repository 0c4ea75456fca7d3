// crypto is pure too; node:crypto is its only node: module, and only for what is a function of its input.
// fires: eslint(no-restricted-imports)
import { readFileSync } from 'node:fs';
// fires: eslint(no-restricted-imports)
import { randomBytes } from 'node:crypto';
// fires: eslint(no-restricted-imports)
import { Client } from 'ssh2';
// fires: eslint(no-restricted-imports) source(no-dynamic-import)
export const later: Promise<unknown> = import('node:net');
// fires: eslint(no-restricted-globals)
export const now: number = Date.now();
// fires: eslint(no-restricted-globals) node(no-process-env)
export const home: unknown = process.env['HOME'];
// fires: eslint(no-restricted-globals)
export const timer: unknown = setTimeout(() => undefined, 1);
// fires: source(no-dynamic-import) eslint(no-restricted-globals)
export const sly: unknown = process.getBuiltinModule('node:fs');
export const used: readonly unknown[] = [readFileSync, randomBytes, Client];
