// Judges what weir generated: lines of `{ oracle, ... }` on standard input, findings on standard
// output. Schemas go to ajv, templates to mock.js.
const Ajv4 = require('ajv-draft-04')
const Ajv2019 = require('ajv/dist/2019')
const Ajv2020 = require('ajv/dist/2020')
const formats = require('ajv-formats')
const Mock = require('mockjs')

// Without a precision, ajv finds that 0.14 is no multiple of 0.01.
const options = { strict: false, allErrors: true, multipleOfPrecision: 12 }
const dialects = { '3.0': [Ajv4], '3.1': [Ajv2020], '2019-09': [Ajv2019, Ajv2020] }
const compiled = new Map()

function validators({ dialect, schema }) {
  const key = dialect + JSON.stringify(schema)
  if (!compiled.has(key)) {
    compiled.set(key, dialects[dialect].map((Ajv) => {
      const module = Ajv.default ?? Ajv
      return formats(new module(options)).compile(schema)
    }))
  }
  return compiled.get(key)
}

function broken(sample) {
  return validators(sample).flatMap((validate) => {
    if (validate(sample.value)) return []
    return validate.errors.map((error) => `${error.instancePath || '/'}: ${error.message}`)
  })
}

const kinds = (value) => (Array.isArray(value) ? 'array' : typeof value)

// The kinds of characters that a text has: 汉 for Chinese, a, A, 9, and signs as they are.
function letters(value) {
  const text = typeof value === 'string' ? value : ''
  return [...text].map((c) => (/\p{Script=Han}/u.test(c) ? '汉' : c.replace(/[a-z]/, 'a')
    .replace(/[A-Z]/, 'A').replace(/[0-9]/, '9')))
}

const SHAPES = 300
const shapes = new Map()

// What mock.js makes of a template: types, characters, and lengths.
function shape(template) {
  const key = JSON.stringify(template)
  if (!shapes.has(key)) {
    const own = { kinds: new Set(), letters: new Set(), least: Infinity, most: 0 }
    for (let n = 0; n < SHAPES; n++) {
      const [v] = Object.values(Mock.mock(template))
      own.kinds.add(kinds(v))
      letters(v).forEach((letter) => own.letters.add(letter))
      own.least = Math.min(own.least, String(v).length)
      own.most = Math.max(own.most, String(v).length)
    }
    shapes.set(key, own)
  }
  return shapes.get(key)
}

function strange({ template, value }) {
  const own = shape(template)
  const [v] = Object.values(value)
  const { length } = String(v)
  const found = []
  if (!own.kinds.has(kinds(v))) found.push(`/v: ${kinds(v)}, mock.js makes ${[...own.kinds]}`)
  const other = [...new Set(letters(v).filter((letter) => !own.letters.has(letter)))]
  if (other.length) found.push(`/v: has ${JSON.stringify(other.join(''))}, mock.js never does`)
  // Words differ in their lengths; what a rule repeats must not.
  if (!('v' in template) && (length < own.least || length > own.most)) {
    found.push(`length ${length}, mock.js makes ${own.least} to ${own.most}`)
  }
  return found
}

// Of an empty text with a rule, `Mock.valid` refuses what mock.js itself makes: see placeholders.
const invalid = ({ template, value }) =>
  Mock.valid(template, value).map((error) => `${error.path.join('/')}: ${error.message}`)

const judges = { ajv: broken, rules: invalid, placeholders: strange }
const lines = require('fs').readFileSync(0, 'utf8').split('\n').filter(Boolean)
for (const line of lines) {
  const sample = JSON.parse(line)
  for (const why of judges[sample.oracle](sample)) {
    console.log(JSON.stringify({ name: sample.name, seed: sample.seed, why, value: sample.value }))
  }
}
