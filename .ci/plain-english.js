// Words and openings that make a text hard to read, and their replacements (CONTRIBUTING, "Plain English").

const words = [
  [/\banew\b/i, 'write "again"'],
  [/\bwhoever\b/i, 'name the one who acts: "a client that", "the caller"'],
  [/\bsomebody\b/i, 'name the one who acts: "a client", "another replica", "the user"'],
  [/\b(?:is|are|be|been) told of\b/i, 'name the call: "is called with", "receives"'],
  [/\b(?:has|have) (?:a|its|their) say\b/i, 'name the decision: "may change", "may refuse"'],
  [/\bhears? of\b/i, 'name the call: "is called with", "receives", "learns of"'],
  [/\bnothing but\b|\bno other [a-z]+ than\b|\bnothing (?:else|more) than\b/i, 'write "only"'],
  [/\b(?:that|which|what) (?:is|are) none\b(?! of)/i, 'repeat the noun: "a text that is not a size"'],
  [/\bwhat goes is\b/i, 'say what is deleted'],
  [/\bwhat it came to\b/i, 'name the result'],
  [/\bof before\b(?!\()/i, 'write "previous", "former" or "earlier"'],
  // This rule does not refuse every "nobody", because tests use the word as a name of absent objects and users.
  [
    /\b(?:that|which|whom|where|as|there is) nobody\b|\bnobody (?:is|has|was|will|can|else|knows|waits|reads|sees|listens)\b/i,
    'name the one who acts: "no client", "no plugin", "no user"',
  ],
  [/\bAnswers? (?:what|how|whether)\b/, 'write "Returns"'],
  [/\b(?:hence|thus)\b/i, 'write "so"'],
  [/\bought to\b/i, 'write "should"'],
  [/\b(?:goes|go|went) on\b/i, 'write "continues"'],
  [/\b(?:has|have) yet to\b/i, 'write "not yet"'],
  [/\b(?:is|are|was|were) told to\b/i, 'name the call or the setting that causes the behaviour'],
];

/** Openings that leave a docstring without a subject. */
const opening =
  /^(?:Answers|Of|As|Who|Whoever|Somebody|Nobody|Told|Which|Whose|Besides|Neither|Whether|Asked|Why|So|Such|Nothing|None|Both|Also|It|Its|They|Their|Stands|Goes|Comes|What(?! (?:do|does|is|are)\b))\b/;

/** Openings of docstrings that a reader understands only after another docstring. */
const reference = /^(?:(?:Returns t|T)he same(?:,| (?:as|for|from|in|of|on|with|without|but)\b)|Does the same\b)/;

/** Returns the reason why a text is hard to read; undefined when it breaks no rule. */
export function unclearText(text) {
  const found = words.find(([pattern]) => pattern.test(text));
  return found && `"${found[0].exec(text)[0]}" makes readers stop: ${found[1]}.`;
}

/** Returns the reason why a docstring is hard to read. A docstring starts with its subject or its verb. */
export function unclearDocstring(text) {
  const start = text.replace(/^[\s*]+/, '');
  const [same] = reference.exec(start) ?? [];
  if (same !== undefined)
    return `"${same}" refers to another docstring: say what this code does, or start with "Like {@link other}".`;
  const found = opening.exec(start);
  return found === null
    ? unclearText(text)
    : `A docstring starts with what it describes ("The …", "Returns …"), not with "${found[0]}".`;
}
