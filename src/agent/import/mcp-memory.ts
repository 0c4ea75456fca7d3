/** The graph of the MCP memory server: JSON lines of entities with observations, and of relations between them. */
import { isHome } from '../../core/body-fields.ts';
import type { BodyInput } from '../../core/event.ts';
import { contentBytesMax, importGraphLineBytesMax, nameBytesMax } from '../../core/limits.ts';
import { utf8Length } from '../../crypto/text.ts';
import { readObjects } from './json-lines.ts';
import { plainEvent } from './plain-event.ts';
import { entitySlug } from './slug.ts';
import type { ImportPlan, ImportRemark } from './types.ts';

interface Entity {
  readonly name: string;
  /** Where its first line stands. */
  readonly what: string;
  readonly types: Set<string>;
  /** Observations and relations, in the order of the file. */
  readonly said: Set<string>;
}

type Fields = Readonly<Record<string, unknown>>;

/**
 * Every entity becomes one claim, `note/<entity>`: an entity of the graph is one thing with a list of remarks, and two
 * claims on one subject would contradict each other. Lines of the same entity are put together; a relation is told with
 * the entity that it starts from. What cannot be read is named. Pure.
 */
export function readMcpMemory(bytes: Uint8Array, name: string): ImportPlan {
  const entities = new Map<string, Entity>();
  const skipped: ImportRemark[] = [];
  const noted: ImportRemark[] = [];
  for (const { what, record } of readObjects(bytes, { name, lineMax: importGraphLineBytesMax })) {
    const why = record.ok ? takeLine(record.value, { what, entities, noted }) : record.detail;
    if (why !== '') skipped.push({ what, why });
  }
  const events: BodyInput[] = [];
  const subjects = new Map<string, string>();
  for (const entity of entities.values()) {
    const event = claimOf(entity, name, subjects);
    if (typeof event === 'string') skipped.push({ what: entity.what, why: event });
    else events.push(event);
  }
  return { kind: 'mcp-memory', events, skipped, noted };
}

interface Taking {
  readonly what: string;
  readonly entities: Map<string, Entity>;
  readonly noted: ImportRemark[];
}

/** Adds what a line says; says why when it is left out. */
function takeLine(line: Fields, taking: Taking): string {
  if (line['type'] === 'entity') return takeEntity(line, taking);
  if (line['type'] === 'relation') return takeRelation(line, taking);
  return 'neither an entity nor a relation';
}

function takeEntity({ name, entityType, observations }: Fields, { what, entities, noted }: Taking): string {
  if (!isText(name)) return 'an entity without a name';
  if (!Array.isArray(observations) || !observations.every((one) => typeof one === 'string'))
    return 'its observations are no list of texts';
  const known = entities.get(name);
  if (known !== undefined) noted.push({ what, why: `${known.what} has the same entity: put together` });
  const entity = known ?? entityOf(name, what, entities);
  if (isText(entityType)) entity.types.add(entityType);
  for (const one of observations) if (isText(one)) entity.said.add(oneLine(one));
  return '';
}

function takeRelation({ from, to, relationType }: Fields, { what, entities, noted }: Taking): string {
  if (!isText(from) || !isText(to) || !isText(relationType)) return 'a relation without from, to and relationType';
  if (!entities.has(from)) noted.push({ what, why: 'no line before it has the entity that it starts from' });
  (entities.get(from) ?? entityOf(from, what, entities)).said.add(oneLine(`${relationType} ${to}`));
  return '';
}

function entityOf(name: string, what: string, entities: Map<string, Entity>): Entity {
  const entity: Entity = { name, what, types: new Set(), said: new Set() };
  entities.set(name, entity);
  return entity;
}

/** The claim, or why there is none. */
function claimOf({ name, types, said }: Entity, file: string, subjects: Map<string, string>): BodyInput | string {
  const slug = entitySlug(name);
  if (slug === undefined) return 'its name has no letter or digit to make a subject of';
  const subject = `note/${slug}`;
  const taken = subjects.get(subject);
  if (taken !== undefined) return `it would be ${subject}, which ${taken} already is: rename one of them`;
  const title = oneLine(types.size === 0 ? name : `${name} (${[...types].join(', ')})`);
  const whole = said.size === 0 ? title : `${title}: ${[...said].join('; ')}`;
  const fits = utf8Length(whole) <= contentBytesMax;
  const event = plainEvent({
    kind: 'assert',
    subject,
    content: fits ? whole : `${title}: ${said.size} remarks, see the text`,
    ...(fits ? {} : { text: [...said].map((one) => `- ${one}`).join('\n') }),
    ...(utf8Length(name) > nameBytesMax ? {} : { names: [oneLine(name)] }),
    home: isHome(`file:${file}`) ? `file:${file}` : 'file:memory.jsonl',
  });
  if (!event.ok) return event.detail;
  subjects.set(subject, name);
  return event.value;
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== '';
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}
