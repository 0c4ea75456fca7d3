/**
 * Fingerprints as words, for two people who compare them by voice. 6 of 256 words are 48 bits: enough to notice a mix-up
 * or a substituted line in a call, not a replacement for the fingerprint itself, which is always shown beside them.
 */
import { assert } from './result.ts';
import { decodeBase64 } from './base64.ts';

const wordsShown = 6;

/** 256 common words, sorted, one for every byte value. Changing one would change what people read to each other. */
const words: readonly string[] = [
  'acid acorn actor album alley amber anchor ankle apple apron arch arrow ash atlas attic autumn',
  'axle bacon badge baker bamboo banana barn basil basket beach bean bear bell bench berry bicycle',
  'birch bird blanket blue boat bone bonus book border bottle bowl brick bridge broom bucket button',
  'cabin cable cactus camel candle canoe carbon carpet castle cedar cellar chalk cherry chess circus clay',
  'clock cloud clover coal cobra coffee comet copper coral cotton crab crane crayon cricket crown curtain',
  'daisy dance desert diamond dice dinner dolphin donkey door dragon drum duck dune eagle earth easel',
  'echo elbow elm ember engine falcon farm feather fence fern ferry fiddle field flag flame flute',
  'forest fossil fox frog garden garlic ghost ginger glove goat gold grape gravel guitar hammer harbor',
  'hat hawk hazel helmet hill honey horse hotel ice igloo indigo ink iron island ivory ivy',
  'jacket jaguar jar jelly jewel judge jungle kayak kettle kiwi knot ladder lagoon lake lamp lantern',
  'lava lemon lily linen lion lobster lotus magnet mango maple marble meadow melon mirror mocha monkey',
  'moon moss motor mountain museum napkin needle nest nickel novel nutmeg oasis ocean olive onion opera',
  'orange orbit otter oven owl oyster paddle palm panda paper parrot peach pencil pepper piano pillow',
  'pirate planet plum pocket pony poppy potato prism pumpkin puzzle quartz queen quill rabbit radio raven',
  'ribbon river robot rocket rope rose ruby saddle salmon sand satin scarf shell silver siren slate',
  'snow sofa spoon squid stone sugar tango temple thunder tiger tomato tulip turtle velvet violin zebra',
].flatMap((row) => row.split(' '));

/** Six words for a `SHA256:…` fingerprint, one for each of its first six bytes. Pure. */
export function fingerprintWords(fingerprint: string): string {
  const digest = decodeBase64(`${fingerprint.slice('SHA256:'.length)}=`);
  assert(fingerprint.startsWith('SHA256:') && digest?.length === 32, 'a fingerprint is SHA256: and 43 characters');
  return Array.from(digest.subarray(0, wordsShown), (byte) => words[byte]).join(' ');
}
