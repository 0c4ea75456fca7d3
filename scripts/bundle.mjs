// @ts-check
/**
 * Bundles the short way of memctl into dist/hot.cjs: one CommonJS file without imports but node:*, a third faster to start
 * than the same modules one by one. Plain JavaScript, because the bootstrap runs it on any Node that memctl
 * supports. Run after the compiler; a bundle that is older than the compiler's output is not used.
 */
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

await build({
  configFile: false,
  root,
  logLevel: 'warn',
  build: {
    ssr: join(root, 'src/cli/hot/run.ts'),
    target: 'node22',
    outDir: join(root, 'dist'),
    emptyOutDir: false,
    copyPublicDir: false,
    minify: false,
    rolldownOptions: {
      output: { format: 'cjs', entryFileNames: 'hot.cjs', chunkFileNames: 'hot-[name].cjs' },
    },
  },
});
