/** What the articles of the demo are composed of. All of it was written for this project; places and people are made up. */
export interface Topic {
  readonly name: string;
  readonly subjects: readonly string[];
  readonly titles: readonly string[];
  readonly sentences: readonly string[];
}

export const places = [
  "Aldermoor",
  "Brackwater",
  "Cinderholm",
  "Dunmarrow",
  "Eastfell",
  "Farrowby",
  "Greyhaven",
  "Hollin Bay",
  "Isle of Corran",
  "Kestrel Point",
  "Lower Wend",
  "Marrowdale",
  "Northgate",
  "Oxley",
  "Port Sorrel",
  "Quarry Hill",
  "Ravensey",
  "Saltmarch",
  "Thornwick",
  "Upper Tarn",
  "Vellan",
  "Westering",
  "Yarrowford",
] as const;

export const seasons = ["spring", "summer", "autumn", "winter"] as const;

export const topics: readonly Topic[] = [
  {
    name: "climate",
    subjects: ["sea ice", "permafrost", "tidal marsh", "glacier", "storm surge", "drought"],
    titles: [
      "What the {subject} at {place} tells us",
      "{place} measures its {subject}",
      "A {season} without {subject}",
    ],
    sentences: [
      "Sensors on the {subject} at {place} recorded a temperature {n} tenths of a degree above the long average.",
      "The survey compares this {season} with aerial photographs taken in {year}.",
      "Warmer water reaches the coast earlier each {season}, and the ice thins from below.",
      "Carbon that was locked in frozen soil escapes as the ground thaws.",
      "Rainfall arrives in fewer, heavier storms, so rivers flood and then run dry.",
      "Researchers from {place} drill cores to read {n} centuries of weather in layers of sediment.",
      "A flood wall built in {year} now meets the tide {n} times a year instead of once.",
      "Farmers near {place} plant trees along the fields to keep moisture in the soil.",
      "The model agrees with the measurements only when melting snow is counted twice over the {season}.",
      "Salt water creeps up the estuary whenever the river carries little rain.",
    ],
  },
  {
    name: "astronomy",
    subjects: ["comet", "variable star", "lunar crater", "meteor shower", "exoplanet", "radio telescope"],
    titles: ["Watching a {subject} from {place}", "The {subject} that came back", "Notes on a {subject}, {year}"],
    sentences: [
      "The observatory above {place} has followed the {subject} for {n} nights.",
      "Its light dims every {n} hours, as if something dark crossed in front of the star.",
      "A mirror polished in {year} still gathers more light than the camera behind it can use.",
      "Amateurs with small telescopes sent in drawings that matched the orbit within a minute of arc.",
      "Dust from the tail enters the atmosphere each {season} and burns as a meteor shower.",
      "The spectrum shows iron and sodium, and a faint line nobody has named.",
      "Radio noise from {place} drowned the signal until a wall of wire mesh was raised.",
      "Planets of that size are common, yet none in our own system resembles them.",
      "Moonlight spoils the deepest exposures, so the team works in the dark week of the month.",
      "Gravity from the giant planet bends the path a little more on every return.",
    ],
  },
  {
    name: "gardening",
    subjects: ["pear orchard", "herb bed", "compost heap", "walled garden", "seed library", "bean frame"],
    titles: ["A {subject} for the impatient", "{place} and its {subject}", "The {subject} in {season}"],
    sentences: [
      "Start the {subject} in {season}, when the soil of {place} crumbles in the hand.",
      "Feed the roots with compost that has rested for {n} months under straw.",
      "Prune above a bud that faces outward, and the branch will grow toward the light.",
      "Slugs come after rain; a ring of ash keeps them from the seedlings.",
      "The old gardener planted beans beside maize because each lends the other what it lacks.",
      "Water at the foot of the plant in the evening, never over the leaves at noon.",
      "Seeds saved since {year} germinate better than the ones sold in bright packets.",
      "A hedge of hawthorn shelters the beds from the wind that blows off {place}.",
      "Bees visit the thyme first, then the apple blossom, then everything else.",
      "Leave a corner unmown, and frogs and beetles will do the weeding of pests for you.",
    ],
  },
  {
    name: "bridges",
    subjects: ["stone arch", "suspension bridge", "footbridge", "swing bridge", "viaduct", "timber span"],
    titles: ["How {place} got its {subject}", "The {subject} that hums", "Repairing a {subject} in {season}"],
    sentences: [
      "The {subject} at {place} carries {n} tonnes on cables no thicker than a wrist.",
      "Engineers load the deck with water tanks and measure how far the span sinks.",
      "The mason cut every stone so that the arch would stand before any mortar set.",
      "Wind made the first deck of {year} twist until a rivet failed.",
      "Steel expands in {season}; a toothed joint at each end lets the road grow by {n} centimetres.",
      "Divers inspect the piers, where the current scours sand from the foundations.",
      "A crack was found by its sound: the inspector taps the girder and listens.",
      "Pedestrians walking in step shook the bridge, so the columns were given dampers.",
      "Toll records from {place} show that most of the traffic was sheep.",
      "The new span was floated down the river on barges and lifted at high tide.",
    ],
  },
  {
    name: "sailing",
    subjects: ["ketch", "lighthouse", "harbour pilot", "trade wind", "sextant", "lifeboat"],
    titles: ["The {subject} of {place}", "Learning from a {subject}", "Round {place} with a {subject}"],
    sentences: [
      "The crew left {place} on the ebb with {n} days of water and a torn mainsail.",
      "A {subject} teaches patience: the wind decides, and the sailor answers.",
      "Reef early, said the skipper, for nobody ever regretted a smaller sail in a gale.",
      "The harbour chart of {year} still marks a rock that the dredger removed.",
      "Fog hid the coast, and they steered by the bell of the buoy and the smell of land.",
      "The lamp turns once in {n} seconds, so that a ship can tell this light from its neighbour.",
      "Currents run strong off {place}, where two tides meet and stand up in waves.",
      "Stars at dusk and dawn fix a position to within a few miles.",
      "Varnish and tar fill the {season}, when the boats lie on the slip.",
      "The lifeboat was launched {n} times that {season}, twice for the same yacht.",
    ],
  },
  {
    name: "cooking",
    subjects: ["rye bread", "fish stew", "plum jam", "smoked cheese", "lentil soup", "honey cake"],
    titles: ["{place} and the secret of {subject}", "{subject}, slowly", "A {season} recipe: {subject}"],
    sentences: [
      "The {subject} of {place} takes {n} hours and almost no effort.",
      "Toast the spices in a dry pan until their smell fills the kitchen.",
      "Salt draws water from the onions, so that they soften before they brown.",
      "The sourdough was begun in {year} and has been fed with rye flour ever since.",
      "Simmer, do not boil: a stew that trembles stays clear and tender.",
      "Cooks in {place} add a spoon of vinegar at the end to wake the broth.",
      "Bake on a hot stone, and the crust will crackle as the loaf cools.",
      "The fruit of {season} needs little sugar, only lemon and time.",
      "Butter, flour and milk make the sauce that holds the dish together.",
      "Leave the dough overnight in a cold room; flavour comes from slow yeast.",
    ],
  },
  {
    name: "music",
    subjects: ["string quartet", "church organ", "harvest song", "brass band", "clay flute", "choir"],
    titles: ["The {subject} of {place}", "Tuning a {subject}", "{year}: a {subject} is heard again"],
    sentences: [
      "The {subject} rehearses in {place} on {n} evenings before the festival.",
      "A melody collected in {year} turns up again in the bass of the second movement.",
      "The organ has {n} pipes, the largest of which is felt rather than heard.",
      "Old tunings make some chords sweet and others sour, and composers used both.",
      "The violin maker leaves the spruce to dry for a decade before carving the belly.",
      "Singers breathe in turn, so that the long note never ends.",
      "Rhythm carried by drums travels across the valley faster than a rider.",
      "The score was found in {place}, wrapped around a ham.",
      "Echo in the stone hall forces the players to leave silence between phrases.",
      "Children learn the harvest song by ear, and no two villages agree on its ending.",
    ],
  },
  {
    name: "railways",
    subjects: ["steam locomotive", "night train", "signal box", "narrow gauge line", "railway station", "tunnel"],
    titles: ["The {subject} of {place}", "Last run of a {subject}", "A {subject} for {season}"],
    sentences: [
      "The {subject} at {place} was restored over {n} years by volunteers.",
      "Coal and water are loaded before dawn, and steam is up by the first train.",
      "The timetable of {year} allows four minutes for a change that takes six.",
      "Signals are set by levers, and a lock keeps two trains from one stretch of track.",
      "Leaves on the rails in {season} make the wheels slip on the climb to {place}.",
      "The tunnel was dug from both ends and met within {n} centimetres.",
      "A narrow gauge follows the river closely because it can turn more sharply.",
      "Sleepers of oak outlast pine, and the track gangs know each by its sound.",
      "Passengers in the dining car hear the brakes before they feel the curve.",
      "Freight keeps the line alive: timber in {season}, stone all year.",
    ],
  },
  {
    name: "birds",
    subjects: ["barn owl", "reed warbler", "grey heron", "swift", "puffin", "crane"],
    titles: ["Counting the {subject} at {place}", "A {subject} in {season}", "Where does the {subject} go?"],
    sentences: [
      "Volunteers ringed {n} birds at {place} before the wind changed.",
      "The {subject} returns to the same nest, often within a day of its arrival in other years.",
      "Migration follows the coast by night, steered by stars and the pull of the earth.",
      "Feathers grow anew in {season}, and for some weeks the bird can hardly fly.",
      "The song differs from one marsh to the next, as a dialect does.",
      "Chicks are fed every {n} minutes with insects caught above the reeds.",
      "A ring put on in {year} came back from another continent.",
      "Owls hear a mouse under snow; one ear sits higher than the other.",
      "The colony on the cliffs near {place} doubled after rats were removed.",
      "Cranes dance before they leave, leaping with their wings half open.",
    ],
  },
  {
    name: "ceramics",
    subjects: ["celadon bowl", "salt glaze", "roof tile", "kiln", "porcelain cup", "earthenware jar"],
    titles: ["A {subject} from {place}", "The chemistry of a {subject}", "Firing a {subject} in {season}"],
    sentences: [
      "The {subject} was fired at {place} for {n} hours with split pine.",
      "Iron in the glaze turns green when the kiln is starved of air.",
      "Clay from the river is washed, rested through {season} and kneaded by foot.",
      "The potter throws the bowl in one pull and trims its foot the next day.",
      "Salt thrown into the fire settles on the pots as an orange skin of glass.",
      "Shards dug up in {year} show the thumb of the maker inside the rim.",
      "Cracks appear when the base cools faster than the wall.",
      "A cone of clay bends at the right heat and tells the potter to stop.",
      "Cobalt came to {place} by ship and made the cheapest plates blue.",
      "Porcelain rings like a bell because it is nearly glass.",
    ],
  },
  {
    name: "medicine",
    subjects: ["fever ward", "willow bark", "village clinic", "vaccine", "heart valve", "sleep study"],
    titles: ["The {subject} of {place}", "What a {subject} taught the doctors", "{year} and the {subject}"],
    sentences: [
      "Nurses at {place} wrote down every temperature, {n} times a day.",
      "The {subject} was tested against a treatment that only tasted the same.",
      "Patients who slept by the window recovered sooner, and nobody knew why.",
      "Clean hands saved more lives that {season} than any medicine in the cupboard.",
      "The doctor listened to the heart through a rolled sheet of paper.",
      "A vaccine trains the body to recognise an infection it has not yet met.",
      "Records kept since {year} let the clinic see a disease return every seventh {season}.",
      "Pain eased within {n} minutes, but the fever came back at night.",
      "Surgeons practise the stitch on oranges before they are allowed near a patient.",
      "Blood pressure falls in company and rises in queues, the study found.",
    ],
  },
  {
    name: "computing",
    subjects: ["event log", "search index", "weather model", "chess program", "punched card", "compiler"],
    titles: ["The {subject} of {place}", "Why the {subject} was wrong", "Keeping a {subject} for {n} years"],
    sentences: [
      "The {subject} at {place} was written in {year} and has never been switched off.",
      "Every change is appended to a log, so that the state can be rebuilt by replaying it.",
      "An index trades memory for time: it is read a thousand times for each write.",
      "Two machines disagreed by one bit, and it took {n} days to find which was right.",
      "Programmers left notes in the margins that explain more than the manual does.",
      "A vector stands for the meaning of a text, and near vectors for near meanings.",
      "The program loses on purpose when it plays against children.",
      "Data on punched cards survived the flood; the tapes did not.",
      "Tests run each night, and the team of {place} reads the failures over breakfast.",
      "Searching by words finds what was said; searching by meaning finds what was meant.",
    ],
  },
];

export interface DemoQuery {
  readonly name: string;
  /** What it shows. */
  readonly why: string;
  readonly text?: string;
  /** Words whose vector is searched with. */
  readonly meaning?: string;
  readonly filter?: unknown;
}

export const demoQueries: readonly DemoQuery[] = [
  {
    name: "melting ice",
    why: "text finds the words, the vector finds thawing ground and rising tides that never say them",
    text: "melting ice",
    meaning: "melting ice warmer thaws",
  },
  {
    name: "boats in a storm",
    why: "a question whose words hardly occur: most of what fits comes from the vector",
    text: "boats in a storm",
    meaning: "gale sail crew lifeboat waves",
  },
  {
    name: "old machines still running",
    why: "railways and computing meet in one ranking",
    text: "program never switched off, train restored",
    meaning: "machine log program locomotive steam restored",
  },
  {
    name: "well rated bread since 2000",
    why: "the filter cuts before the rankings, so that ten rows are ten that fit",
    text: "bread dough crust",
    meaning: "sourdough yeast flour bake",
    filter: { and: [{ range: { rating: { gte: 3.5 } } }, { range: { year: { gte: 2000 } } }] },
  },
  {
    name: "glass, but in pots",
    why: "two words of the craft, and a vector for all that belongs to it",
    text: "glass heat",
    meaning: "kiln glaze porcelain fire clay",
  },
];
