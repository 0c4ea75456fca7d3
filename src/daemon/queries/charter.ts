import type { CharterJson, HostJson } from '../api-types.ts';
import type { Engine } from '../engine.ts';
import type { StateDatabase } from '../../store/database.ts';
import { tipsOf } from './sound-rows.ts';

/** charter: what the trust set amounts to, with the op behind every item. */
export function charterJson(engine: Engine, database: StateDatabase): CharterJson {
  const charter = engine.charter();
  const tips = tipsOf(database);
  const hosts: HostJson[] = [...charter.hosts.values()].map(({ name, address, status, op, sign }) => {
    return { host: name, address, status, seq: tips[name]?.seq ?? 0, op, key: sign.fingerprint };
  });
  return {
    mesh: charter.meshId,
    trust: engine.trust().hash,
    hosts,
    signers: [...charter.signers.values()].map(({ name, key, scopes, op }) => ({
      name,
      key: key.fingerprint,
      scopes,
      op,
    })),
    classes: [...charter.classes].map(([name, { revise, claims, description }]) => ({
      name,
      revise,
      claims,
      description,
    })),
    audiences: [...charter.audiences.keys()],
    conflicts: charter.conflicts.map(({ kind, item, detail }) => ({ kind, detail: `${item}: ${detail}` })),
  };
}
