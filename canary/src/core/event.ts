// The one file that may normalise: what people write enters here.
export const normal: string = 'a'.normalize('NFC');
// fires: eslint(no-restricted-properties)
export const lower: string = 'A'.toLowerCase();
