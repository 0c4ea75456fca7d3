import { searchFailure } from './test/lib/fold-search.ts';
console.log(searchFailure({ from: 7_000_000, runs: 12_000, property: 'equality' }) ?? 'nothing found');
console.log(searchFailure({ from: 8_000_000, runs: 8_000, property: 'authority' }) ?? 'nothing found');
console.log(searchFailure({ from: 9_000_000, runs: 8_000, property: 'safety' }) ?? 'nothing found');
