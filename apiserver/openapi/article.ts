/** Initial letters whose own names start with a vowel, as abbreviations are read: an HTTPRoute. */
const spelledWithVowel = /^[AEFHILMNORSX][A-Z]/;
const spelled = /^[A-Z]{2}/;
/** Words that start with a vowel, but are pronounced with `you` or `won`: a User, a Once. */
const readAsConsonant = /^(?:Uni|Us[aeu]|Ut|Eu|Once|One)/;

/** A kind with its article: `a Person`, `an Event`. */
export function withArticle(kind: string): string {
  const isSpelled = spelled.test(kind);
  const isVowel = isSpelled ? spelledWithVowel.test(kind) : /^[AEIOU]/.test(kind) && !readAsConsonant.test(kind);
  return `${isVowel ? 'an' : 'a'} ${kind}`;
}
