// A pure layer has no exceptions.
// fires: source(no-suppression)
// oxlint-disable-next-line no-restricted-globals -- it would be so handy
export const now: number = Date.now();
// fires: source(no-suppression) typescript(prefer-ts-expect-error)
// @ts-ignore
export const wrong: number = 'a';
