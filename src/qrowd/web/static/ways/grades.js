// A grade for each document.

import { about, label } from "../texts.js";
import { Way } from "../way.js";

export default class Grades extends Way {
  kinds = { grade: "grade" };

  // A grade's key is its own digit where every grade has one, else its place on the scale.
  choices() {
    const areDigits = about.grades.every((grade) => grade >= 0 && grade <= 9);
    return about.grades.map((grade, index) => ({
      name: `grade${index}`,
      key: String(areDigits ? grade : index),
      text: label(grade),
      answer: { kind: "grade", grade },
    }));
  }

  scale() {
    return about.grades.map((grade) => [String(grade), label(grade)]);
  }
}
