/**
 * config.toml: where it is, what it says, and what it says where it is silent. Read once by each process; a key that
 * nobody knows is refused with its line, so that a typing error never silently means the default.
 */
import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { parse, TomlError } from 'smol-toml';
import {
  configBytesMax,
  configEntriesMax,
  indexBytesDefault,
  indexLinesDefault,
  quietDaysDefault,
} from '../../core/limits.ts';
import { decodeUtf8 } from '../../crypto/text.ts';
import { systemCode } from '../../store/errors.ts';
import {
  configFile,
  defaultMaintenance,
  defaultSync,
  userFolder,
  type Config,
  type Environment,
  type NotifierConfig,
} from './config-file.ts';
import { configSections, type ConfigKey, type ConfigSection } from './config-schema.ts';
import { nearestWords } from './nearest-words.ts';
import { Refusal } from '../refusal.ts';

export { configFile, type Config, type TargetConfig } from './config-file.ts';

/** Reads the config of this user; where there is no file every key has its default. Refuses CONFIG_INVALID. */
export function readConfig(env: Environment): Config {
  const file = configFile(env);
  return parseConfig(readText(file), { file, user: userFolder(env) });
}

function readText(file: string): string {
  try {
    const status = statSync(file);
    if (!status.isFile()) throw invalid(file, 'it is not a file');
    if (status.size > configBytesMax)
      throw invalid(file, `it has ${status.size} bytes, ${configBytesMax} are the most`);
    const text = decodeUtf8(readFileSync(file));
    if (text === undefined) throw invalid(file, 'it is not UTF-8 text');
    return text;
  } catch (error) {
    if (error instanceof Refusal) throw error;
    // No folder, no file: nothing was configured. Anything else might hide what was.
    if (['ENOENT', 'ENOTDIR'].includes(systemCode(error))) return '';
    throw invalid(file, `it cannot be read (${systemCode(error)})`);
  }
}

/** What a text says; `user` is the folder that `~` stands for. Refuses CONFIG_INVALID, naming file and line. */
export function parseConfig(text: string, { file, user }: { readonly file: string; readonly user: string }): Config {
  const said = checkedToml(text, file);
  const place = (path: string): string => resolve(path.replace(/^~(?=\/|$)/, () => user));
  const index = {
    bytes: numberIn(said['index'], 'bytes', indexBytesDefault),
    lines: numberIn(said['index'], 'lines', indexLinesDefault),
  };
  const targets = (said['target'] ?? []) as unknown as Said[];
  return {
    file,
    sync: { schedule: textIn(said['sync'], 'schedule') ?? defaultSync },
    maintenance: { schedule: textIn(said['maintenance'], 'schedule') ?? defaultMaintenance },
    ssh: { listen: textIn(said['ssh'], 'listen') ?? null },
    peers: new Map(Object.entries(said['peers'] ?? {}) as [string, string][]),
    homes: {
      roots: textsIn(said['homes'], 'roots').map(place),
      httpsHosts: textsIn(said['homes'], 'https_hosts'),
    },
    targets: targets.map((target) => ({
      path: place(textIn(target, 'path') ?? ''),
      audience: textIn(target, 'audience') ?? 'operator',
      scope: textIn(target, 'scope'),
      bytes: numberIn(target, 'bytes', index.bytes),
      lines: numberIn(target, 'lines', index.lines),
    })),
    scopes: new Map(Object.entries(said['scope'] ?? {}).map(([path, scope]) => [place(path), scope as string])),
    index,
    notifiers: notifiersIn(said['notifier'] as unknown as Said[] | undefined, { text, file, place }),
    quietDays: {
      usual: numberIn(said['health'], 'quiet_days', quietDaysDefault),
      of: new Map(Object.entries(said['quiet_days'] ?? {}) as [string, number][]),
    },
  };
}

/** What one key says about another: a notifier needs what its kind uses, and has nothing else. */
function notifiersIn(
  said: readonly Said[] = [],
  from: { readonly text: string; readonly file: string; readonly place: (path: string) => string },
): readonly NotifierConfig[] {
  const names = said.map((one) => textIn(one, 'name') ?? '');
  return said.map((one, at) => {
    const kind = textIn(one, 'kind') ?? '';
    const fault = names.indexOf(names[at] ?? '') < at ? `a second notifier is called ${names[at]}` : misfit(one, kind);
    if (fault !== undefined) throw invalid(`${from.file}:${lineOf(from.text, ['notifier', at])}`, fault);
    return notifierOf(one, kind, from.place);
  });
}

const keysOfKind: Readonly<Record<string, readonly string[]>> = {
  command: ['command'],
  webhook: ['url', 'token_file'],
  ntfy: ['url', 'token_file'],
  desktop: [],
};

function misfit(one: Said, kind: string): string | undefined {
  const [needed, ...optional] = keysOfKind[kind] ?? [];
  const surplus = Object.keys(one).find((key) => !['name', 'kind', needed, ...optional].includes(key));
  if (surplus !== undefined) return `a notifier of kind ${kind} has no ${surplus}`;
  const missing = needed !== undefined && (one[needed] === undefined || textsIn(one, needed).length === 0);
  return missing ? `a notifier of kind ${kind} needs ${needed}` : undefined;
}

function notifierOf(one: Said, kind: string, place: (path: string) => string): NotifierConfig {
  const name = textIn(one, 'name') ?? '';
  if (kind === 'command') return { name, kind, command: textsIn(one, 'command') };
  if (kind !== 'webhook' && kind !== 'ntfy') return { name, kind: 'desktop' };
  const token = textIn(one, 'token_file');
  return { name, kind, url: textIn(one, 'url') ?? '', tokenFile: token === undefined ? undefined : place(token) };
}

type Said = Readonly<Record<string, unknown>>;

const textIn = (said: Said | undefined, key: string): string | undefined => said?.[key] as string | undefined;
const textsIn = (said: Said | undefined, key: string): readonly string[] => (said?.[key] ?? []) as readonly string[];
const numberIn = (said: Said | undefined, key: string, fallback: number): number => (said?.[key] ?? fallback) as number;

/** Where a fault is: names and positions from the top of the document. */
type Path = readonly (string | number)[];

interface Fault {
  readonly path: Path;
  readonly says: string;
  readonly hint?: string;
}

function checkedToml(text: string, file: string): Readonly<Record<string, Said>> {
  const said = parsedToml(text, file);
  const [fault] = faultsOf(said);
  if (fault === undefined) return said as Readonly<Record<string, Said>>;
  throw invalid(`${file}:${lineOf(text, fault.path)}`, fault.says, fault.hint);
}

function parsedToml(text: string, file: string): Said {
  try {
    return parse(text);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const [what = 'not TOML'] = error.message.replace(/^Invalid TOML document: /, '').split('\n');
    throw invalid(`${file}:${error.line}`, `${what} (column ${error.column})`);
  }
}

function faultsOf(said: Said): Fault[] {
  return Object.entries(said).flatMap(([name, value]) => {
    const section = Object.hasOwn(configSections, name) ? configSections[name] : undefined;
    if (section === undefined) return [unknownKey([name], Object.keys(configSections))];
    return sectionFaults(section, name, value);
  });
}

function sectionFaults(section: ConfigSection, name: string, value: unknown): Fault[] {
  if (section.form !== 'list') {
    if (!isTable(value)) return [{ path: [name], says: `${name} must be a table: [${name}]` }];
    return section.form === 'names' ? nameFaults(section, name, value) : tableFaults(section.keys, [name], value);
  }
  if (!Array.isArray(value) || !value.every(isTable)) {
    return [{ path: [name], says: `${name} must be a list of tables: [[${name}]]` }];
  }
  if (value.length > configEntriesMax) return [tooMany([name])];
  return value.flatMap((entry, at) => tableFaults(section.keys, [name, at], entry));
}

function nameFaults(section: ConfigSection & { form: 'names' }, name: string, value: Said): Fault[] {
  if (Object.keys(value).length > configEntriesMax) return [tooMany([name])];
  return Object.entries(value).flatMap(([free, one]) => {
    const fault = section.name(free);
    if (fault !== undefined) return [{ path: [name, free], says: `${JSON.stringify(free)} in [${name}] ${fault}` }];
    return valueFaults(section.key, [name, free], one);
  });
}

function tableFaults(keys: Readonly<Record<string, ConfigKey>>, path: Path, value: Said): Fault[] {
  const missing = Object.entries(keys).filter(([key, { required }]) => required && !Object.hasOwn(value, key));
  return [
    ...Object.entries(value).flatMap(([key, one]) => {
      const known = Object.hasOwn(keys, key) ? keys[key] : undefined;
      return known === undefined
        ? [unknownKey([...path, key], Object.keys(keys))]
        : valueFaults(known, [...path, key], one);
    }),
    ...missing.map(([key]) => ({ path, says: `${keyName([...path, key])} is missing` })),
  ];
}

function valueFaults(key: ConfigKey, path: Path, value: unknown): Fault[] {
  const fault = (says: string): Fault[] => [{ path, says: `${keyName(path)} ${says}` }];
  if (key.type === 'number') {
    if (!Number.isSafeInteger(value)) return fault('must be a whole number');
  } else if (key.type === 'text') {
    if (typeof value !== 'string') return fault('must be a text in quotes');
  } else if (!isTexts(value)) return fault('must be a list of texts: ["…", "…"]');
  else if (value.length > configEntriesMax) return [tooMany(path)];
  const values = Array.isArray(value) ? (value as string[]) : [value as string | number];
  const says = values.map((one) => key.check(one)).find((one) => one !== undefined);
  return says === undefined ? [] : fault(says);
}

function unknownKey(path: Path, known: readonly string[]): Fault {
  const near = nearestWords(String(path.at(-1)), known);
  const hint = near.length > 0 ? `did you mean ${near.join(' or ')}?` : `known here: ${known.join(', ')}`;
  return { path, says: `there is no key ${keyName(path)}`, hint };
}

function tooMany(path: Path): Fault {
  return { path, says: `${keyName(path)} has more than ${configEntriesMax} entries` };
}

function keyName(path: Path): string {
  return path.filter((part) => typeof part === 'string').join('.');
}

function isTable(value: unknown): value is Said {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date);
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((one) => typeof one === 'string');
}

/**
 * Line on which something begins. The parser keeps no lines, so the file is read up to a line, and one more, until the
 * thing is there; text that ends inside a value does not parse, which is why a value's first line is the one after the
 * last that did. Only a fault pays for this.
 */
function lineOf(text: string, path: Path): number {
  const lines = text.split('\n');
  let whole = 0;
  for (let count = 1; count <= lines.length; count += 1) {
    const said = parsedUpTo(lines, count);
    if (said === undefined) continue;
    if (holds(said, path)) return whole + 1;
    whole = count;
  }
  return 1;
}

function parsedUpTo(lines: readonly string[], count: number): unknown {
  try {
    return parse(lines.slice(0, count).join('\n'));
  } catch {
    return undefined;
  }
}

function holds(value: unknown, [first, ...rest]: Path): boolean {
  if (first === undefined) return true;
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, first)) return false;
  return holds((value as Record<string | number, unknown>)[first], rest);
}

function invalid(where: string, says: string, hint?: string): Refusal {
  return new Refusal({
    code: 'CONFIG_INVALID',
    message: `${where}: ${says}`,
    hint: `${hint === undefined ? '' : `${hint} `}docs/config.md lists every key`,
    exit: 2,
  });
}
