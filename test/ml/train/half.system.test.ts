// Tests layers in 16 bits with the weights of a public model.
import { assertClose, openModel } from '../../support/halfPrecision.js';
import { provideSmolLM2 } from '../../support/smollm2.js';

describe('layers in 16 bits', () => {
  it('score and train SmolLM2 nearly as in f32', async function () {
    const path = provideSmolLM2() ?? this.skip();
    await assertClose(await openModel(path));
  });
});
