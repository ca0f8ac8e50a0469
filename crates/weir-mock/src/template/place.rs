//! Regions, provinces, cities and counties of China.

use serde_json::Value;

use super::evaluate::Evaluator;

pub(super) const NAMES: &[&str] = &["region", "province", "city", "county", "zip"];

const REGIONS: &[&str] = &["东北", "华北", "华东", "华中", "华南", "西南", "西北"];
/// Province, city, county.
const PLACES: &[(&str, &str, &str)] = &[
    ("北京", "北京市", "海淀区"),
    ("上海", "上海市", "浦东新区"),
    ("广东省", "广州市", "天河区"),
    ("广东省", "深圳市", "南山区"),
    ("浙江省", "杭州市", "西湖区"),
    ("江苏省", "南京市", "玄武区"),
    ("四川省", "成都市", "武侯区"),
    ("湖北省", "武汉市", "洪山区"),
    ("陕西省", "西安市", "雁塔区"),
    ("山东省", "青岛市", "市南区"),
    ("福建省", "厦门市", "思明区"),
    ("辽宁省", "大连市", "中山区"),
];

impl Evaluator<'_> {
    pub(super) fn place(
        &mut self,
        name: &str,
        arguments: &[Value],
    ) -> Result<Option<Value>, String> {
        let is_long = arguments.first() == Some(&Value::Bool(true));
        let (province, city, county) = match name {
            "region" => return Ok(Some(Value::from(self.word_of(REGIONS)))),
            "zip" => return Ok(Some(Value::String(self.string("123456789", 6)))),
            "province" | "city" | "county" => self.pick(PLACES).unwrap_or_default(),
            _ => return Ok(None),
        };
        let parts: &[&str] = match (name, is_long) {
            ("province", _) => &[province],
            ("city", false) => &[city],
            ("city", true) => &[province, city],
            (_, false) => &[county],
            (_, true) => &[province, city, county],
        };
        Ok(Some(Value::String(parts.join(" "))))
    }
}
