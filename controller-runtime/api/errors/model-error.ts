/**
 * Thrown when the declaration of a model, of its schema or of its indexes breaks a rule of registration. `attribute`
 * names the place (`group`, `plural`, or a field such as `PersonSpec.age`), and `rule` describes what must hold there.
 */
export class ModelError extends Error {
  override readonly name = 'ModelError';
  readonly attribute: string;
  readonly rule: string;

  /** `model` is the name in the author's code: that of the class, or else the kind. */
  constructor(model: string, attribute: string, rule: string) {
    super(`model ${model}: ${attribute}: ${rule}`);
    this.attribute = attribute;
    this.rule = rule;
  }
}
