/** Initial letters of abbreviations whose names start with a vowel: an HTTPRoute. */
const spelledWithVowel = /^[AEFHILMNORSX][A-Z]/;
const spelled = /^[A-Z]{2}/;
/** Initial vowels that are pronounced as `you` or `won`: a User, a Once. */
const readAsConsonant = /^(?:Uni|Us[aeu]|Ut|Eu|Once|One)/;

/** A kind with its article: `a Person`, `an Event`. */
export function withArticle(kind: string): string {
  const isSpelled = spelled.test(kind);
  const isVowel = isSpelled ? spelledWithVowel.test(kind) : /^[AEIOU]/.test(kind) && !readAsConsonant.test(kind);
  return `${isVowel ? 'an' : 'a'} ${kind}`;
}
