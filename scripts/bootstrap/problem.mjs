// @ts-check
/** Something that the person at the keyboard can put right. Printed as it is, without a stack trace. */
export class Problem extends Error {
  /**
   * @param {string} what names the thing and the reason
   * @param {string} next what to do now
   */
  constructor(what, next) {
    super(`${what}\n  ${next.split('\n').join('\n  ')}`);
    this.name = 'Problem';
  }
}
