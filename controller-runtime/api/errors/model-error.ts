/**
 * Thrown when the declaration of a model, of its schema or of its indexes breaks a rule of registration. `attribute`
 * names the place (`group`, `plural`, or a field such as `PersonSpec.age`), and `rule` describes the broken rule.
 */
export class ModelError extends Error {
  override readonly name = 'ModelError';
  readonly attribute: string;
  readonly rule: string;

  /** `model` is the name of the model in the author's code: the name of the class, or the kind if there is no class. */
  constructor(model: string, attribute: string, rule: string) {
    super(`model ${model}: ${attribute}: ${rule}`);
    this.attribute = attribute;
    this.rule = rule;
  }
}
