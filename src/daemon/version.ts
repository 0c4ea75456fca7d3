import { createRequire } from 'node:module';

const { version: packaged } = createRequire(import.meta.url)('../../package.json') as { version: string };

/** Version of this package, as package.json has it. */
export const version: string = packaged;
